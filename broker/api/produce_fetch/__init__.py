"""Produce and Fetch, which have their own codecs and fast paths."""
