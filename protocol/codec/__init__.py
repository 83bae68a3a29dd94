"""Compilation of a schema into functions that read and write its messages."""
