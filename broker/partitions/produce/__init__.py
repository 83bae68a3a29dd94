"""Appends that are answered later: waiting for a log, for a validation, or for other appends."""
