"""The topology of a streams group (KIP-1071), and the internal topics that it needs."""
