"""Transactions: the producer, its states, and sets of partitions that are ended together."""
