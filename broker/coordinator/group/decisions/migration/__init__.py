"""Groups with members of both protocols, and groups that change from one to the other (KIP-848) decided. Pure."""
