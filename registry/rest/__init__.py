"""The REST API of Confluent Schema Registry, as an ASGI application over the registry."""
