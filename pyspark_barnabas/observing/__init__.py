"""Whether a query did what it should: the audit, and how far it is behind."""
