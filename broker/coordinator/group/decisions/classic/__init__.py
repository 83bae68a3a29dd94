"""Classic groups (KIP-429, KIP-345) decided: joining, syncing, leaving, sessions, rebalances. Pure."""
