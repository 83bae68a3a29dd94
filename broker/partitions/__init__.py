"""The open partitions: opening and recovery, waiting readers, fsync, and what is done by the clock."""
