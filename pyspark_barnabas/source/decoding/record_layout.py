"""The positions of all parts of the records of some batches, found for all of them at once with numpy.

Theory of operation: records contain their own length, so they have to be walked one after the other to know where each
begins; that is done with as little Python as possible (`_walk`, which takes runs of equally long records in one step).
Everything behind the length is then read for all records in parallel. How the beginnings were found does not matter:
it is checked afterwards that each record ends where the next begins, and the last where its batch ends.

Invariant: the result is what protocol.records.record.iter_records would read; anything else, damage or a form
that is merely rare, raises Unusual, and the caller reads the batches with iter_records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from barnabas.protocol.records.record import RECORD_BYTES_MAX
from pyspark_barnabas.source.decoding.varints import LONG_BYTES, Array, Unusual, read_varints

HEADERS_MAX = 64  # of one record: each costs a step over all records that have so many


class Pieces(NamedTuple):
    """Byte strings inside the buffer, in order; a length of -1 is a null."""

    starts: Array
    lengths: Array

    @property
    def ends(self) -> Array:
        return self.starts + np.maximum(self.lengths, 0)


class RecordLayout(NamedTuple):
    """One entry per record in every array but those of the headers, of which record i has `header_counts[i]`."""

    offset_deltas: Array
    timestamp_deltas: Array
    keys: Pieces
    values: Pieces
    header_counts: Array
    header_keys: Pieces
    header_values: Pieces


def find_layout(area: bytes, batches: Sequence[tuple[int, int]]) -> RecordLayout:
    """Return the layout of record areas that are adjacent in `area`: (bytes, records) of each. Raise Unusual."""
    starts, ends = _find_records(area, batches)
    data = np.frombuffer(area, np.uint8)
    lengths, position = read_varints(data, starts)
    if (position + lengths != ends).any() or (
        lengths.size and not 0 <= lengths.min() <= lengths.max() <= RECORD_BYTES_MAX
    ):
        raise Unusual
    timestamp_deltas, position = read_varints(data, position + 1, LONG_BYTES)  # behind the attributes, which are unused
    offset_deltas, position = read_varints(data, position)
    keys, position = _read_pieces(data, position)
    values, position = _read_pieces(data, position)
    header_counts, position = read_varints(data, position)
    if header_counts.any():
        header_keys, header_values, position = _read_headers(data, position, header_counts)
    else:
        header_keys = header_values = Pieces(header_counts[:0], header_counts[:0])
    if (position != ends).any():
        raise Unusual
    return RecordLayout(offset_deltas, timestamp_deltas, keys, values, header_counts, header_keys, header_values)


def _find_records(area: bytes, batches: Sequence[tuple[int, int]]) -> tuple[Array, Array]:
    """Return where each record begins, with its length, and where it has to end."""
    starts: list[int] = []
    position, last = 0, []
    for size, count in batches:
        if count < 0 or count > size:
            raise Unusual
        try:
            _walk(area, position, position + size, count, starts)
        except IndexError:
            raise Unusual from None
        position += size
        last.append(len(starts))
        if not count and size:
            raise Unusual
    begins = np.array(starts, np.int64)
    ends = np.empty_like(begins)
    ends[:-1] = begins[1:]
    sizes = np.cumsum([size for size, _ in batches])
    for index, end in zip(last, sizes.tolist(), strict=True):
        if index:
            ends[index - 1] = end
    return begins, ends


def _walk(area: bytes, position: int, end: int, count: int, starts: list[int]) -> None:
    """Append the beginnings of `count` records from `position` on. Wrong bytes give IndexError or wrong beginnings."""
    left, before = count, 0
    while left:
        starts.append(position)
        left -= 1
        first = area[position]
        if first < 0x80:
            size = 1 + (first >> 1)
        elif (second := area[position + 1]) < 0x80:
            size = 2 + ((second << 7 | first & 0x7F) >> 1)
        else:
            size = _long_size(area, position)
        position += size
        if size == before and left:
            # As long as the one before: perhaps the next ones are too. `position` is where the next begins.
            run = min(left, _equal_run(area, position, size, end, first))
            starts += range(position, position + run * size, size)
            left -= run
            position += run * size
        before = size


def _long_size(area: bytes, position: int) -> int:
    number = 0
    for index in range(4):
        byte = area[position + index]
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return 1 + index + (number >> 1)
    raise Unusual


def _equal_run(area: bytes, position: int, size: int, end: int, first: int) -> int:
    """Count the records from `position` on that look as long as the one before (`size` bytes, with this first byte)."""
    ahead = area[position:end:size]
    run = len(ahead) - len(ahead.lstrip(ahead[:1])) if ahead and ahead[0] == first else 0
    if run and first >= 0x80:
        second = area[position - size + 1]
        ahead = area[position + 1 : position + 1 + run * size : size]
        run = len(ahead) - len(ahead.lstrip(bytes((second,))))
    if run and size >= 1 << 13:
        third = area[position - size + 2]  # of a varint of three bytes or more; the check behind finds what this misses
        ahead = area[position + 2 : position + 2 + run * size : size]
        run = len(ahead) - len(ahead.lstrip(bytes((third,))))
    return run


def _read_pieces(data: Array, position: Array) -> tuple[Pieces, Array]:
    lengths, starts = read_varints(data, position)
    pieces = Pieces(starts, lengths)
    if lengths.size and lengths.min() < -1:
        raise Unusual
    return pieces, pieces.ends


def _read_headers(data: Array, position: Array, counts: Array) -> tuple[Pieces, Pieces, Array]:
    """Return the headers of all records, record by record, and where each record's headers end."""
    if counts.min() < 0 or counts.max() > HEADERS_MAX:
        raise Unusual
    first = np.cumsum(counts) - counts  # where a record's headers begin among all
    keys, values = (Pieces(np.empty(counts.sum(), np.int64), np.empty(counts.sum(), np.int64)) for _ in range(2))
    for number in range(int(counts.max())):
        records = np.flatnonzero(counts > number)
        slots = first[records] + number
        found, after = _read_pieces(data, position[records])
        if found.lengths.min() < 0:
            raise Unusual  # a header has a key
        keys.starts[slots], keys.lengths[slots] = found
        found, after = _read_pieces(data, after)
        values.starts[slots], values.lengths[slots] = found
        position[records] = after
    return keys, values, position
