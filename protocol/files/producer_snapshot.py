"""A `.snapshot` file: the state of every producer below the offset in its name.

    i16 version (1) | u32 CRC-32C of everything after it | i32 count | count entries of 46 bytes

Only the latest batch of a producer's window is stored; `last_offset` -1 means there is none.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.crc32c import crc32c

_HEADER = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
ENTRY_SIZE = 46
assert _ENTRY.size == ENTRY_SIZE

_VERSION = 1
_CRC_FROM = 6  # the first byte the CRC covers


class ProducerEntry(NamedTuple):
    """One producer. Offsets absolute, `timestamp` in ms; -1 for no sequence, no offset, no epoch, no transaction."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


def encode(entries: list[ProducerEntry]) -> bytes:
    """Return the whole file."""
    return with_header(b"".join(_ENTRY.pack(*entry) for entry in entries))


def encode_entry(entry: ProducerEntry) -> bytes:
    """Return ENTRY_SIZE bytes."""
    return _ENTRY.pack(*entry)


def with_header(entries: Buffer) -> bytes:
    """Return the whole file, from its encoded entries."""
    count = len(entries) // ENTRY_SIZE
    counted = count.to_bytes(4, "big") + entries
    return _HEADER.pack(_VERSION, crc32c(counted), count) + entries


def decode(data: Buffer, end_offset: int | None = None) -> list[ProducerEntry]:
    """Return every entry. DecodeError as `iter_entries`."""
    return list(iter_entries(data, end_offset))


def iter_entries(data: Buffer, end_offset: int | None = None) -> Iterator[ProducerEntry]:
    """Yield every entry; DecodeError for another version, a wrong CRC, or a size that does not fit the count.

    end_offset: the offset in the file's name; then also for an entry that is impossible in a log ending there.
    """
    _check_header(data)
    open_since: set[int] = set()
    for entry in map(ProducerEntry._make, _ENTRY.iter_unpack(memoryview(data)[_HEADER.size :])):
        if end_offset is not None:
            _check_offsets(entry, end_offset, open_since)
        yield entry


def _check_header(data: Buffer) -> None:
    if len(data) < _HEADER.size:
        raise DecodeError(f"producer snapshot of {len(data)} bytes is too short")
    version, crc, count = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise DecodeError(f"producer snapshot version {version}")
    if (found := crc32c(memoryview(data)[_CRC_FROM:])) != crc:
        raise DecodeError(f"producer snapshot crc {found:#010x}, stored {crc:#010x}")
    if len(data) != _HEADER.size + count * ENTRY_SIZE:
        raise DecodeError(f"producer snapshot of {len(data)} bytes for {count} entries")


def _check_offsets(entry: ProducerEntry, end_offset: int, open_since: set[int]) -> None:
    """Check an entry. `open_since`: first offsets of the earlier entries' transactions; this entry's is added."""
    last, delta, first_in_txn = entry.last_offset, entry.offset_delta, entry.current_txn_first_offset
    if last >= 0 and not 0 <= delta <= last < end_offset:
        raise DecodeError(f"producer {entry.producer_id}: offsets {last - delta} to {last} below {end_offset}")
    if first_in_txn >= end_offset or first_in_txn in open_since:
        raise DecodeError(f"producer {entry.producer_id}: a transaction from offset {first_in_txn} on")
    if first_in_txn >= 0:
        open_since.add(first_in_txn)
