"""Entries of a `.timeindex` file: i64 timestamp, i32 relative offset, 12 bytes each.

An entry means: up to this offset (relative to the segment's base offset) the largest timestamp in the segment is this
one. Timestamps (ms) strictly increase, offsets never decrease. The file of an active segment may end in zeros.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer

ENTRY = struct.Struct(">qi")
ENTRY_SIZE = 12
assert ENTRY.size == ENTRY_SIZE


class TimeIndexEntry(NamedTuple):
    """The largest timestamp (ms) up to an offset (relative to the segment's base)."""

    timestamp: int
    relative_offset: int


def encode(entries: list[tuple[int, int]] | list[TimeIndexEntry]) -> bytes:
    """Return the bytes of (timestamp, relative offset) pairs."""
    return b"".join(ENTRY.pack(*entry) for entry in entries)


def decode(data: Buffer) -> list[TimeIndexEntry]:
    """Return every entry of a trimmed file; DecodeError for a partial entry or if they are out of order."""
    if len(data) % ENTRY_SIZE:
        raise DecodeError(f"time index of {len(data)} bytes is not a multiple of {ENTRY_SIZE}")
    entries = [TimeIndexEntry._make(entry) for entry in ENTRY.iter_unpack(data)]
    for before, after in pairwise(entries):
        if after.timestamp <= before.timestamp or after.relative_offset < before.relative_offset:
            raise DecodeError(f"time index entry {after} does not come after {before}")
    return entries
