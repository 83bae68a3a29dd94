"""Admission of connections: how many, how fast, and from where."""
