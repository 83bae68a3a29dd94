"""Where the entries of an index file end. Apache Kafka makes the file of an active segment as large as it may become.

The rest is zeros until the file is trimmed, at a roll or a clean stop; a kill leaves them there.
"""

from __future__ import annotations


def trimmed_size(data: bytes, entry_size: int) -> int:
    """Bytes that hold entries. A file of one entry is trimmed already, so its zeros would mean something."""
    if len(data) == entry_size:
        return entry_size
    used = len(data.rstrip(b"\0"))
    return min(-(-used // entry_size) * entry_size, len(data) - len(data) % entry_size)
