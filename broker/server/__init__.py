"""A broker built from its parts, started once and stopped once: the composition root."""
