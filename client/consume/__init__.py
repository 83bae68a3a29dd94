"""Consuming: partitions assigned by hand or by a group, and records out of batches."""
