"""The content of the metadata log as values."""
