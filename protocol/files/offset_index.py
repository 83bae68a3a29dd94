"""Entries of a `.index` file: i32 relative offset, i32 file position, 8 bytes each, both strictly increasing.

The offset is that of the *last* record of the batch that starts at the position, relative to the segment's base offset.
The file of an active segment may be longer than its entries: the rest is zeros until it is trimmed.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer

ENTRY = struct.Struct(">ii")
ENTRY_SIZE = 8
assert ENTRY.size == ENTRY_SIZE


class OffsetIndexEntry(NamedTuple):
    """The position of a batch in the log file, by its last offset (relative to the segment's base)."""

    relative_offset: int
    position: int


def encode(entries: list[tuple[int, int]] | list[OffsetIndexEntry]) -> bytes:
    """Return the bytes of (relative offset, position) pairs."""
    return b"".join(ENTRY.pack(*entry) for entry in entries)


def decode(data: Buffer) -> list[OffsetIndexEntry]:
    """Return every entry of a trimmed file; DecodeError for a partial entry or if they do not increase."""
    if len(data) % ENTRY_SIZE:
        raise DecodeError(f"offset index of {len(data)} bytes is not a multiple of {ENTRY_SIZE}")
    entries = [OffsetIndexEntry._make(entry) for entry in ENTRY.iter_unpack(data)]
    for before, after in pairwise(entries):
        if after.relative_offset <= before.relative_offset or after.position <= before.position:
            raise DecodeError(f"offset index entry {after} does not come after {before}")
    return entries
