"""The decisions about classic groups (KIP-429, KIP-345): joining, syncing, leaving, sessions, rebalances. Pure."""
