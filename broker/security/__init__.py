"""Who a client is, and what it may do: SASL, TLS, ACLs, sessions."""
