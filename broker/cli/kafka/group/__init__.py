"""Kafka's tools for groups: kafka-groups and kafka-consumer-groups."""
