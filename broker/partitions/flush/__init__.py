"""Syncing logs: when, in which order, and how many at a time."""
