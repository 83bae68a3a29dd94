"""Key stores and trust stores with Kafka's types: PEM, PKCS12, JKS, read and loaded into OpenSSL; and cipher names."""
