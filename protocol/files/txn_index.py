"""Entries of a `.txnindex` file: one aborted transaction each, 34 bytes, in the order of their markers.

i16 version (0) | i64 producerId | i64 firstOffset | i64 lastOffset (of the ABORT marker) | i64 lastStableOffset
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer

ENTRY = struct.Struct(">hqqqq")
ENTRY_SIZE = 34
assert ENTRY.size == ENTRY_SIZE

_VERSION = 0


class AbortedTxn(NamedTuple):
    """One aborted transaction on one partition; offsets are absolute.

    `last_stable_offset` is the one when it ended: the first offset of the oldest transaction open then, else the
    marker's offset + 1.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode(entries: list[AbortedTxn]) -> bytes:
    """Return the bytes of the entries, in the order given."""
    return b"".join(ENTRY.pack(_VERSION, *entry) for entry in entries)


def decode(data: Buffer) -> list[AbortedTxn]:
    """Return every entry; DecodeError for an unknown version, a cut entry, or markers out of order."""
    if len(data) % ENTRY_SIZE:
        raise DecodeError(f"transaction index of {len(data)} bytes is not a multiple of {ENTRY_SIZE}")
    entries: list[AbortedTxn] = []
    for version, *fields in ENTRY.iter_unpack(data):
        if version != _VERSION:
            raise DecodeError(f"transaction index entry {len(entries)} has version {version}")
        entry = AbortedTxn._make(fields)
        if entries and entry.last_offset <= entries[-1].last_offset:
            raise DecodeError(f"transaction index entry {entry} does not come after {entries[-1]}")
        entries.append(entry)
    return entries
