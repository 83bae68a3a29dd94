"""Resources that have settings: the common part of their APIs, and the types other than topics and brokers."""
