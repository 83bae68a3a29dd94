"""The decisions about groups with members of both protocols, and about upgrade and downgrade (KIP-848). Pure."""
