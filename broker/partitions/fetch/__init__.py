"""Fetch sessions, and large fetches in turns."""
