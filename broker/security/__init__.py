"""Authentication and authorization of clients: SASL, TLS, ACLs, sessions."""
