"""The audit of a query's results, and how far a query is behind."""
