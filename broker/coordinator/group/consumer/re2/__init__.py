"""Regular expressions as RE2 has them, matched against names of topics in bounded time (KIP-848)."""
