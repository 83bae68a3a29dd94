"""Who a client is: the mechanisms of SASL, and where their users are told.

Knows tokens and credentials, no requests and no sockets: `broker/security/session` holds what came of an exchange, and
`broker/api/handlers` carries its tokens.
"""
