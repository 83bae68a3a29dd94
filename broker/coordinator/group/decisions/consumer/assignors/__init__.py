"""The server-side assignors `uniform` and `range` (KIP-848): who gets which partitions, as Apache Kafka decides it."""
