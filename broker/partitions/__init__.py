"""The open partitions: opening and recovery, delayed fetches, fsync, and the periodic background tasks."""
