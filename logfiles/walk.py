"""From batch to batch through a log file, and over damaged stretches to the next whole batch.

Two walks over the same bytes. `walk_batches` reads all of every batch and checks its CRC: a batch that it calls whole
is as it was written. `walk_headers` reads 61 bytes of each, for callers that need no more.

Where bytes are no batch, or a batch's CRC is wrong and nothing begins at the end in its header, the walk searches
the next place where a whole batch begins whose offset can follow, and reports the stretch before it. It never uses a
length from a damaged header to pass over good batches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.logfiles.log_file import LogBytes
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.older_python import StrEnum
from barnabas.protocol.records.batch import (
    HEADER_SIZE,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    UnsupportedMagic,
    next_batch_size,
    parse_header,
    verify_crc,
)

_TRUSTED_BYTES = 1 << 24  # a header that claims more has to be followed by another, before so much is read
_SEARCH_BYTES = 1 << 20
_OFFSETS_IN_A_SEGMENT = 1 << 31  # as its index counts them in 32 bits


class Damage(StrEnum):
    """The kind of damage of a stretch of a log file."""

    CRC = "crc"  # a batch between whole neighbours, with a wrong CRC
    OFFSET = "offset"  # a whole batch with an impossible offset: outside the segment, or before the batches before it
    NO_BATCH = "no batch"  # bytes that are not a batch, or a batch that does not end where its header has its end
    TORN = "torn tail"  # the file ends inside a batch: left by a write that a kill cut short
    ZEROS = "zeros"  # the file ends in zeros: left by a power cut, or a preallocated file


class LogStretch(NamedTuple):
    """A stretch of a log file: a batch, or other bytes (`header` is None then, if no header can be read).

    `old_format`: the number of the message format that the stretch begins with, if it is one from before batches.
    """

    position: int
    size: int
    header: BatchHeader | None
    damage: Damage | None
    batch: memoryview | None = None
    old_format: int | None = None


class Bounds(NamedTuple):
    """The allowed offsets of batches: from the segment's base offset to that of the next one, without it."""

    base_offset: int
    limit: int | None

    @property
    def end(self) -> int:
        """The first offset above the allowed ones."""
        return self.base_offset + _OFFSETS_IN_A_SEGMENT if self.limit is None else self.limit


def walk_batches(file: LogBytes, start: int, end: int, bounds: Bounds) -> Iterator[LogStretch]:
    """Yield everything that begins in [start, end), in order, without a gap; a batch begins at `start`, and one at
    `end` unless the file ends there.
    """
    position, lowest = start, bounds.base_offset
    while position < end:
        found = _look(file, position, end, Bounds(lowest, bounds.limit))
        yield found._replace(old_format=_old_format(file, position)) if found.header is None else found
        position += found.size
        if found.damage is None and found.header is not None:
            lowest = max(lowest, found.header.next_offset)


def walk_headers(file: LogBytes, start: int, end: int, bounds: Bounds) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of batches in [start, end). Only those that do not follow the one before are checked."""
    position, size, last = start, file.size, None
    while position < end:
        header = _header(file, position)
        if header is None or position + header.size_in_bytes > size:
            lowest = bounds.base_offset if last is None else max(bounds.base_offset, last.next_offset)
            position += _look(file, position, end, Bounds(lowest, bounds.limit)).size
            continue
        yield position, header
        last = header
        position += header.size_in_bytes


def batch_at(file: LogBytes, position: int, header: BatchHeader) -> memoryview | None:
    """Return all bytes of the batch at `position`; None where its CRC is wrong."""
    batch = file.read(position, header.size_in_bytes)
    return batch if len(batch) == header.size_in_bytes and verify_crc(batch) else None


def whole_batch(file: LogBytes, position: int) -> BatchHeader | None:
    """Return the header of the batch at `position`, if one begins there and is whole."""
    header = _header(file, position)
    if header is None or position + header.size_in_bytes > file.size:
        return None
    return header if batch_at(file, position, header) is not None else None


def _header(file: LogBytes, position: int) -> BatchHeader | None:
    try:
        return parse_header(file.read(position, HEADER_SIZE))
    except DecodeError:
        return None


def _old_format(file: LogBytes, position: int) -> int | None:
    """Return the number of the old message format that a message set at `position` would have; None for zeros."""
    start = file.read(position, HEADER_SIZE)
    try:
        next_batch_size(start, 0, len(start))
        parse_header(start)
    except UnsupportedMagic as error:
        return error.magic
    except DecodeError:
        return None
    return None


def _look(file: LogBytes, position: int, end: int, bounds: Bounds) -> LogStretch:
    """Return the stretch that begins at `position`."""
    header = _header(file, position)
    if header is not None and (after := position + header.size_in_bytes) <= file.size:
        is_small = header.size_in_bytes <= _TRUSTED_BYTES
        if is_small or after in (end, file.size) or _header(file, after) is not None:
            batch = batch_at(file, position, header)
            if batch is not None:
                is_in_place = bounds.base_offset <= header.base_offset < bounds.end
                return LogStretch(position, header.size_in_bytes, header, None if is_in_place else Damage.OFFSET, batch)
        following = _header(file, after)
        ends_there = following is not None or after in (end, file.size)
        follows_on = following is not None and following.base_offset == header.next_offset
        if ends_there and after <= end and (follows_on or next_batch(file, position + 1, after, bounds) is None):
            return LogStretch(position, header.size_in_bytes, header, Damage.CRC)
    found = next_batch(file, position + 1, end, bounds)
    if found is not None:
        return LogStretch(position, found - position, header, Damage.NO_BATCH)
    if end < file.size:  # the next part of the file begins with a whole batch
        return LogStretch(position, end - position, header, Damage.NO_BATCH)
    return _look_at_the_end(file, position, header)


def _look_at_the_end(file: LogBytes, position: int, header: BatchHeader | None) -> LogStretch:
    """Return the bytes behind the last batch as a stretch."""
    rest = file.size - position
    if rest >= HEADER_SIZE and header is None and _is_zeros(file, position):
        return LogStretch(position, rest, None, Damage.ZEROS)
    is_torn = rest < HEADER_SIZE or (header is not None and header.size_in_bytes > rest)
    return LogStretch(position, rest, header, Damage.TORN if is_torn else Damage.NO_BATCH)


def next_batch(file: LogBytes, start: int, end: int, bounds: Bounds) -> int | None:
    """Return where in [start, end) the first whole batch with an offset within the bounds begins; None if nowhere.

    Checks only positions where the first bytes of such an offset are followed, 16 bytes on, by the format's number.
    """
    common = _common_prefix(bounds)
    pattern = re.compile(
        b"(?=%s.{%d}%s)" % (re.escape(common), MAGIC_POSITION - len(common), bytes((MAGIC,))), re.DOTALL
    )
    position = start
    while position < end:
        data = bytes(file.read(position, min(_SEARCH_BYTES, end - position) + MAGIC_POSITION))
        for match in pattern.finditer(data):
            at = position + match.start()
            if at < end and _is_batch_within(file, at, bounds):
                return at
        position += _SEARCH_BYTES
    return None


def _is_batch_within(file: LogBytes, position: int, bounds: Bounds) -> bool:
    header = _header(file, position)
    if header is None or header.last_offset_delta < 0:
        return False
    return bounds.base_offset <= header.base_offset < bounds.end and whole_batch(file, position) is not None


def _common_prefix(bounds: Bounds) -> bytes:
    """Return the bytes that every offset within the bounds begins with."""
    lowest, highest = (offset.to_bytes(8, "big") for offset in (bounds.base_offset, bounds.end - 1))
    length = 0
    while length < 8 and lowest[length] == highest[length]:
        length += 1
    return lowest[:length]


def _is_zeros(file: LogBytes, position: int) -> bool:
    while position < file.size:
        part = file.read(position, _SEARCH_BYTES)
        if not part or bytes(part).strip(b"\0"):
            return False
        position += len(part)
    return True
