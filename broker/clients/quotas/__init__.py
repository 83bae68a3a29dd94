"""Quotas as in Apache Kafka: the limits of a client's usage, and the throttle time when it exceeds them."""
