"""Who asks, and for what: a connection's session, its principal, and Kafka's operations on kinds of resources.

Made before the first request, asked by the dispatcher (`broker/api/dispatch.py`); which operations an API is,
`broker/api/table.py` says. The principal is User:ANONYMOUS until a certificate or SASL
(`broker/api/authentication/sasl_authenticator.py`) proves another. Pure values, that know no request and no socket.
"""
