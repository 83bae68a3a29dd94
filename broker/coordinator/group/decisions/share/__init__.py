"""The decisions about share groups (KIP-932): heartbeats, assignments, and which share partitions have a state."""
