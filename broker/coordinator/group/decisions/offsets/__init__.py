"""Committed offsets decided: plain ones, those of open transactions, and which topics they are for. Pure."""
