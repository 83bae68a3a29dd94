"""The ledger as drivers and tasks use it: its topic, reading it, and this process's cache of it."""
