"""Kafka's tools for groups: kafka-groups, kafka-consumer-groups and kafka-share-groups."""
