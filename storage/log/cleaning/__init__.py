"""The segments of a log that compaction takes, and their replacement."""
