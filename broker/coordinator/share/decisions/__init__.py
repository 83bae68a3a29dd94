"""The share coordinator's pure part: its records, its state, and the decisions about it."""
