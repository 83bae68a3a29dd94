"""The transaction coordinator: pure functions from a transaction, a request and the time to records and replies."""
