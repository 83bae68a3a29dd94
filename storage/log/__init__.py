"""One partition's log: append, read, look up, flush and retention, over its segments."""
