"""`serve --secure`: an authority, a certificate, users, and settings for the broker and its clients, made and kept.

Beside the data directory, never inside it: a foreign directory would keep Apache Kafka from starting there. Imported
only where it is asked for; needs the package `cryptography`.
"""
