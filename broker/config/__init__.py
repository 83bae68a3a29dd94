"""Configuration under Kafka's names."""
