"""Authentication of clients: the mechanisms of SASL, and where their users are configured.

Knows tokens and credentials, no requests and no sockets: `broker/security/session` holds the result of an exchange, and
`broker/api/handlers` carries its tokens.
"""
