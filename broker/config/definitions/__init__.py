"""Which keys there are, of which types, and which values they take."""
