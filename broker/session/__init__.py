"""Who asks, and for what: a connection's session, its principal, and Kafka's operations on kinds of resources.

Made before the first request, asked by the dispatcher (`broker/api/dispatch.py`); which operations an API is,
`broker/api/table.py` says. There is one principal today, User:ANONYMOUS, who may do everything: nothing authenticates
and nothing authorizes. Pure values, that know no request and no socket.
"""
