"""TLS as Kafka configures it: stores read and made into contexts, peers' certificates made into principals.

Imported only where a listener speaks SSL or SASL_SSL. Knows no sockets: `broker/network/tls/` has the bytes.
"""
