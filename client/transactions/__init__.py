"""Transactions: the producer and its states, and many transactions at a time."""
