"""Data directories: which logs lie in them, what says how far these are synced, and moves between them."""
