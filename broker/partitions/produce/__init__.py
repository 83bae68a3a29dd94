"""Appends that are answered later: waiting for a log, for a check, or for other appends."""
