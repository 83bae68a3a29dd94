"""One segment: its .log file, its three indexes, and how offsets and times are found in it."""
