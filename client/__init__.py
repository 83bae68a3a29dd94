"""A small blocking Kafka client over protocol's sans-IO connection."""
