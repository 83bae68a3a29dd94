"""Consuming: partitions that are assigned by the caller or by a group, and decoding what a Fetch brings."""
