"""Consumer groups (KIP-848) decided: heartbeats, target assignments, and members reconciled with them."""
