"""Compaction in a running broker: choosing the next log, cleaning beside the event loop, swapping segments on it."""
