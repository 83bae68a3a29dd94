"""Sockets: listeners and connections around protocol's sans-IO server side."""
