"""`serve --secure`: a certificate authority, a certificate, users, and settings for the broker and its clients.

They are generated and stored beside the data directory, never inside it: a foreign directory would keep Apache Kafka
from starting there. Imported only if enabled; needs the package `cryptography`.
"""
