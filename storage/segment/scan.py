# compiled: mypyc
"""Iteration over the batches of a log file by their headers. No CRC is computed, and no record is read.

The file is read in pieces of some kilobytes: one read covers many small batches, large ones cost one read for each
header. It ends at the first batch that is not whole, as in Kafka; bytes that cannot be a batch raise DecodeError.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import BATCH_LENGTH_MIN, HEADER_SIZE, LOG_OVERHEAD, BatchHeader, parse_header
from barnabas.storage.disk.disk_file import DiskFile

PIECE_BYTES = 8192  # two index intervals: a look-up costs one read

_unpack_head: Final = Struct(">qi").unpack_from  # base offset, batch length
_unpack_delta: Final = Struct(">i").unpack_from
_LAST_OFFSET_DELTA: Final = 23


def headers(file: DiskFile, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of every whole batch in [position, end)."""
    piece, piece_start = b"", position
    while end - position >= HEADER_SIZE:
        at = position - piece_start
        if len(piece) - at < HEADER_SIZE:
            piece, piece_start, at = file.pread(min(PIECE_BYTES, end - position), position), position, 0
            if len(piece) < HEADER_SIZE:
                return  # the file is shorter than its owner expects
        header = parse_header(piece, at)
        after = position + header.size_in_bytes
        if after > end:
            return
        yield position, header
        position = after


def first_batch_reaching(file: DiskFile, offset: int, position: int, end: int) -> int | None:
    """Return the position of the first whole batch in [position, end) whose last offset is `offset` or more.

    The same iteration as `headers`, without making headers: the cost of a fetch without a cursor.
    """
    piece, piece_start = b"", position
    while end - position >= HEADER_SIZE:
        at = position - piece_start
        if len(piece) - at < HEADER_SIZE:
            piece, piece_start, at = file.pread(min(PIECE_BYTES, end - position), position), position, 0
            if len(piece) < HEADER_SIZE:
                return None
        base_offset, batch_length = _unpack_head(piece, at)
        if batch_length < BATCH_LENGTH_MIN:
            raise DecodeError(f"batch at {position}: length {batch_length} is below {BATCH_LENGTH_MIN}")
        after = position + LOG_OVERHEAD + batch_length
        if after > end:
            return None
        if base_offset + _unpack_delta(piece, at + _LAST_OFFSET_DELTA)[0] >= offset:
            return position
        position = after
    return None


def batch_around(file: DiskFile, position: int, cut: int) -> tuple[int, int]:
    """Return (base offset, position) of the batch at `cut`, or of an earlier one where that is too far.

    A batch begins at `position`, at or before `cut`. The same iteration as `first_batch_reaching`, in one read or two:
    with large batches, only the first one's header is needed.
    """
    base_offset, batch_length = _unpack_head(file.pread(LOG_OVERHEAD, position))
    if position + LOG_OVERHEAD + batch_length > cut:
        return base_offset, position
    piece = file.pread(min(PIECE_BYTES, cut - position + LOG_OVERHEAD), position)
    at = 0
    while batch_length >= BATCH_LENGTH_MIN:
        after = at + LOG_OVERHEAD + batch_length
        if after + LOG_OVERHEAD > len(piece):
            break
        at = after
        base_offset, batch_length = _unpack_head(piece, at)
    return base_offset, position + at
