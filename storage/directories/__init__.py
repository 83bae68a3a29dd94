"""Data directories: the logs in them, the checkpoints of how far they are synced, and moves between directories."""
