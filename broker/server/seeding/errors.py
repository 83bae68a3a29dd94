"""What is wrong with a seed. Apart from its readers, so that it can be caught where their libraries are missing."""

from __future__ import annotations

MISSING_PACKAGES = "needs the packages msgspec and PyYAML: pip install '/path/to/the/clone[seeds]'"


class SeedError(Exception):
    """A seed that cannot be read or applied; the message is one sentence with file, line and field."""
