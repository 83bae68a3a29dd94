"""Connections that come in: how many, how fast, and from where."""
