"""Both ends of a connection without sockets: bytes in, requests and responses out."""
