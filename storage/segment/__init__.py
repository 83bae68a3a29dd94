"""One segment of a log: its .log file, and its three indexes, by which offsets and times are found in it."""
