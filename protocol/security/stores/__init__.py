"""Key stores and trust stores as Kafka names them: PEM, PKCS12, JKS, read, and handed to OpenSSL; and cipher names."""
