"""TLS of connections: handshakes and their memory."""
