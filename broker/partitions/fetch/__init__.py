"""Fetch sessions, and large fetches in slices."""
