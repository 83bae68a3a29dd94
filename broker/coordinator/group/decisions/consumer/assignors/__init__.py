"""The server-side assignors `uniform` and `range` (KIP-848): partition assignment with Apache Kafka's results."""
