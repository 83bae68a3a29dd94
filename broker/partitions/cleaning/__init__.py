"""Compaction in a running broker: which log is next, its job beside the event loop, and the swap on it."""
