"""The room in the data directories: what waits while there is none, and how there is some again."""
