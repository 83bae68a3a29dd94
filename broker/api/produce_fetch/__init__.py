"""Produce and Fetch, which have codecs and short ways of their own."""
