"""Partitions on disk. Knows batches, not requests; synchronous; knows no network and no event loop."""
