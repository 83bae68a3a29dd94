"""The decisions about consumer groups (KIP-848): heartbeats, target assignments, and reconciliation of members."""
