"""The end of the entries in an index file. Apache Kafka preallocates the file of an active segment.

The rest is zeros until the file is trimmed, at a roll or a clean stop; after a kill they stay.
"""

from __future__ import annotations


def trimmed_size(data: bytes, entry_size: int) -> int:
    """Return the number of bytes with entries. A file of one entry is trimmed already, so its zeros are an entry."""
    if len(data) == entry_size:
        return entry_size
    used = len(data.rstrip(b"\0"))
    return min(-(-used // entry_size) * entry_size, len(data) - len(data) % entry_size)
