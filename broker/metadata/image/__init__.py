"""What the metadata log says, as values."""
