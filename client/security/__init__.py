"""Secured connections: settings by Kafka's property names, TLS, and the client's side of SASL.

Imported only where security is configured.
"""
