"""A broker composed of its parts, started once and stopped once: the composition root."""
