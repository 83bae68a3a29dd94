"""Who leads, and what clients are told of it."""
