"""Transactions decided: pure functions from a transaction, a request and the time to what is written and answered."""
