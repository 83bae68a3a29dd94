"""From batch to batch through a log file, and over what is damaged to the next batch that is whole.

Two walks over the same bytes. `walk_batches` reads all of every batch and checks its CRC: what it calls whole is what
was written. `walk_headers` reads 61 bytes of each, for what needs no more.

Where bytes are no batch, or a batch's CRC is wrong and nothing begins where it says that it ends, the walk looks for
the next place where a whole batch begins whose offset can follow, and tells what it passed over. It never takes a
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
    """What is wrong with a stretch of a log file."""

    CRC = "crc"  # a batch between whole neighbours, with a CRC that its bytes do not have
    OFFSET = (
        "offset"  # a whole batch whose offset cannot be: it lies outside the segment, or before what came before it
    )
    NO_BATCH = "no batch"  # bytes that are no batch, or one that does not end where it says
    TORN = "torn tail"  # the file ends inside a batch: what a write leaves that a kill cut short
    ZEROS = "zeros"  # the file ends in zeros: what a power cut leaves, or a preallocated file


class Found(NamedTuple):
    """A stretch of a log file: a batch, or what is no batch (`header` is None then, if nothing of it can be read).

    `old_format`: the number of the message format that the stretch begins with, if it is one from before batches.
    """

    position: int
    size: int
    header: BatchHeader | None
    damage: Damage | None
    batch: memoryview | None = None
    old_format: int | None = None


class Bounds(NamedTuple):
    """What offsets batches may have: from the segment's base up to, and not with, that of the next one."""

    base_offset: int
    limit: int | None

    @property
    def end(self) -> int:
        """The first offset too many."""
        return self.base_offset + _OFFSETS_IN_A_SEGMENT if self.limit is None else self.limit


def walk_batches(file: LogBytes, start: int, end: int, bounds: Bounds) -> Iterator[Found]:
    """Everything that begins in [start, end), in order, without a gap; a batch begins at `start`, and one at `end`
    unless the file ends there."""
    position, lowest = start, bounds.base_offset
    while position < end:
        found = _look(file, position, end, Bounds(lowest, bounds.limit))
        yield found._replace(old_format=_old_format(file, position)) if found.header is None else found
        position += found.size
        if found.damage is None and found.header is not None:
            lowest = max(lowest, found.header.next_offset)


def walk_headers(file: LogBytes, start: int, end: int, bounds: Bounds) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of what begins in [start, end). Only what does not follow on is looked at closely."""
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
    """All of the batch at `position`; None where its CRC is not that of its bytes."""
    batch = file.read(position, header.size_in_bytes)
    return batch if len(batch) == header.size_in_bytes and verify_crc(batch) else None


def whole_batch(file: LogBytes, position: int) -> BatchHeader | None:
    """The header of the batch at `position`, if one begins there and is whole."""
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
    """The number of the message format before batches that a message set at `position` would have; zeros are none."""
    start = file.read(position, HEADER_SIZE)
    try:
        next_batch_size(start, 0, len(start))
        parse_header(start)
    except UnsupportedMagic as error:
        return error.magic
    except DecodeError:
        return None
    return None


def _look(file: LogBytes, position: int, end: int, bounds: Bounds) -> Found:
    """What begins at `position`."""
    header = _header(file, position)
    if header is not None and (after := position + header.size_in_bytes) <= file.size:
        is_small = header.size_in_bytes <= _TRUSTED_BYTES
        if is_small or after in (end, file.size) or _header(file, after) is not None:
            batch = batch_at(file, position, header)
            if batch is not None:
                is_in_place = bounds.base_offset <= header.base_offset < bounds.end
                return Found(position, header.size_in_bytes, header, None if is_in_place else Damage.OFFSET, batch)
        following = _header(file, after)
        ends_there = following is not None or after in (end, file.size)
        follows_on = following is not None and following.base_offset == header.next_offset
        if ends_there and after <= end and (follows_on or next_batch(file, position + 1, after, bounds) is None):
            return Found(position, header.size_in_bytes, header, Damage.CRC)
    found = next_batch(file, position + 1, end, bounds)
    if found is not None:
        return Found(position, found - position, header, Damage.NO_BATCH)
    if end < file.size:  # the next part of the file begins with a whole batch
        return Found(position, end - position, header, Damage.NO_BATCH)
    return _look_at_the_end(file, position, header)


def _look_at_the_end(file: LogBytes, position: int, header: BatchHeader | None) -> Found:
    """What the bytes behind the last batch are."""
    rest = file.size - position
    if rest >= HEADER_SIZE and header is None and _is_zeros(file, position):
        return Found(position, rest, None, Damage.ZEROS)
    is_torn = rest < HEADER_SIZE or (header is not None and header.size_in_bytes > rest)
    return Found(position, rest, header, Damage.TORN if is_torn else Damage.NO_BATCH)


def next_batch(file: LogBytes, start: int, end: int, bounds: Bounds) -> int | None:
    """Where in [start, end) the first whole batch begins whose offset lies within the bounds; None if nowhere.

    Looks only where the first bytes of such an offset are followed, 16 bytes on, by the format's number.
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
    """The bytes that every offset within the bounds begins with."""
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
