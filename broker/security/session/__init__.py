"""The client of a connection and its operations: a session, its principal, and Kafka's operations on kinds of
resources.

Made before the first request, used by the dispatcher (`broker/api/dispatch.py`); the operations of an API are in
`broker/api/api_table.py`. The principal is User:ANONYMOUS until a certificate or SASL
(`broker/api/authentication/sasl_authenticator.py`) proves another. Pure values, that know no request and no socket.
"""
