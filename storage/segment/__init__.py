"""One segment of a log: its .log file, and its three indexes for look-ups by offset and time."""
