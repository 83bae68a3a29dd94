"""The free space in the data directories: what is refused while a directory is full, and how space is freed."""
