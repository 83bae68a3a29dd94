"""The decisions about streams groups (KIP-1071): topologies, internal topics, task assignment and reconciliation."""
