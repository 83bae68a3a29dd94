"""What compaction takes of a log, and puts in its place."""
