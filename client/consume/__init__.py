"""Consuming: partitions assigned by the caller or by a group, and decoding of Fetch responses."""
