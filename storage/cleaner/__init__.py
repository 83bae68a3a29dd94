"""Compaction of one partition's log: the last record of every key is kept, in new segments beside the old ones."""
