"""The ledger as drivers and tasks use it: its topic, reading it, and what this process keeps of it."""
