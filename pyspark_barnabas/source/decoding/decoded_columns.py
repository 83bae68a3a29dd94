"""Record batches of the wire as Arrow columns, some thousand rows at a time.

Theory of operation: the record areas of several batches are put one behind the other, decompressed, and read at once
(record_layout.py). Keys and values stay where they are: one Arrow array is laid over the whole area, with an offset
wherever a key or a value begins or ends, and the elements that are keys, or values, are taken out of it. Records that
this does not read exactly are read one by one.

Invariants: the columns hold the records of protocol.records.record.iter_records, in its order, or a DecodeError says
why not. Memory is bounded by the largest batch on the wire and a piece of its records, not by its decompressed size.
Neither crc nor transactions are checked: the caller has done so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import CREATE_TIME, HEADER_SIZE, BatchHeader
from barnabas.protocol.records.compression import NONE, decompress_chunks
from barnabas.protocol.records.record import BatchRecord, iter_records
from pyspark_barnabas.source.decoding.record_layout import Pieces, RecordLayout, find_layout
from pyspark_barnabas.source.decoding.varints import Array, Unusual

ROWS = 10_000  # a piece has so many rows at most
PIECE_BYTES = 4 << 20  # and ends where its records reach so many bytes
_AT_ONCE_BYTES = 64 << 20  # a batch that is larger when decompressed is read record by record
_MICROSECONDS = 1000  # in a millisecond
_TIMESTAMP_MAX = (2**63 - 1) // _MICROSECONDS

TIMESTAMP = pa.timestamp("us", tz="UTC")
HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
HEADERS = pa.list_(pa.field("element", HEADER))

Batch = tuple[BatchHeader, Buffer]  # the header, and the whole batch from its first byte on


class Columns(NamedTuple):
    """Some records. `offsets` is a numpy array of int64; the others are Arrow arrays as Spark needs them.

    headers: a null where a record has none; None if they were not requested.
    spans: (number of the batch among the given ones, how many of its records are here), in order.
    """

    offsets: Array
    timestamps: pa.Array
    keys: pa.Array
    values: pa.Array
    headers: pa.Array | None
    spans: list[tuple[int, int]]


class _Loaded(NamedTuple):
    """A batch with its records decompressed."""

    number: int
    header: BatchHeader
    batch: memoryview
    area: Buffer


def read_columns(batches: Iterable[Batch], *, with_headers: bool) -> Iterator[Columns]:
    """Yield all records of `batches`, in order, in pieces. Raise DecodeError if a batch is damaged."""
    group: list[_Loaded] = []
    rows = size = 0
    for number, (header, batch) in enumerate(batches):
        view = memoryview(batch)[: header.size_in_bytes]
        if len(view) < header.size_in_bytes:
            raise DecodeError(f"batch of {header.size_in_bytes} bytes is cut to {len(view)}")
        area = _decompress(header, view[HEADER_SIZE:])
        if area is None:
            yield from _read_group(group, with_headers)
            yield from _one_by_one(number, view, with_headers)
            group, rows, size = [], 0, 0
            continue
        if group and (rows + header.records_count > ROWS or size + len(area) > PIECE_BYTES):
            yield from _read_group(group, with_headers)
            group, rows, size = [], 0, 0
        group.append(_Loaded(number, header, view, area))
        rows += header.records_count
        size += len(area)
    yield from _read_group(group, with_headers)


def _decompress(header: BatchHeader, area: memoryview) -> Buffer | None:
    """Return the records as bytes; None if there are too many to hold."""
    if header.compression == NONE or (not area and not header.records_count):
        return area
    chunks: list[bytes] = []
    size = 0
    for chunk in decompress_chunks(header.compression, area):
        size += len(chunk)
        if size > _AT_ONCE_BYTES:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _read_group(group: Sequence[_Loaded], with_headers: bool) -> Iterable[Columns]:
    """Read all of them at once, or, if that is not possible, one after the other."""
    if not group:
        return ()
    try:
        return _read_at_once(group, with_headers)
    except Unusual:
        return chain.from_iterable(_one_by_one(each.number, each.batch, with_headers) for each in group)


def _read_at_once(group: Sequence[_Loaded], with_headers: bool) -> list[Columns]:
    area = b"".join(each.area for each in group)
    layout = find_layout(area, [(len(each.area), each.header.records_count) for each in group])
    counts = np.array([each.header.records_count for each in group], np.int64)
    bases = np.array([each.header.base_offset for each in group], np.int64)
    keys, values = _take(area, layout.keys, layout.values)
    whole = Columns(
        offsets=np.repeat(bases, counts) + layout.offset_deltas,
        timestamps=_timestamps(group, counts, layout),
        keys=keys,
        values=values,
        headers=_headers(area, layout) if with_headers else None,
        spans=[(each.number, each.header.records_count) for each in group],
    )
    return [whole] if len(keys) <= ROWS else list(_cut(whole))


def _cut(whole: Columns) -> Iterator[Columns]:
    """Yield pieces of ROWS records. Only a batch that is read alone is larger, so all are of one batch."""
    [(number, count)] = whole.spans
    for start in range(0, count, ROWS):
        rows = min(ROWS, count - start)
        yield Columns(
            whole.offsets[start : start + rows],
            whole.timestamps.slice(start, rows),
            whole.keys.slice(start, rows),
            whole.values.slice(start, rows),
            None if whole.headers is None else whole.headers.slice(start, rows),
            [(number, rows)],
        )


def _take(area: bytes, first: Pieces, second: Pieces) -> tuple[pa.Array, pa.Array]:
    """Return two binary arrays: pieces of `area` that alternate in it, one of `first`, one of `second`, and so on."""
    count = len(first.starts)
    bounds = np.empty(4 * count, np.int32)
    bounds[0::4], bounds[1::4] = first.starts, first.ends
    bounds[2::4], bounds[3::4] = second.starts, second.ends
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(area)]
    # The elements alternate: a piece of `first`, the bytes between, a piece of `second`, the bytes between.
    laid_over = pa.Array.from_buffers(pa.binary(), max(0, 4 * count - 1), buffers)
    numbers = np.arange(0, 4 * count, 4, np.int32)
    return (
        laid_over.take(pa.array(numbers, mask=first.lengths < 0)),
        laid_over.take(pa.array(numbers + 2, mask=second.lengths < 0)),
    )


def _timestamps(group: Sequence[_Loaded], counts: Array, layout: RecordLayout) -> pa.Array:
    """Return the timestamps in microseconds. Raise Unusual if they would not fit."""
    headers = [each.header for each in group]
    bases = [each.base_timestamp if each.timestamp_type == CREATE_TIME else each.max_timestamp for each in headers]
    deltas = layout.timestamp_deltas
    if any(each.timestamp_type != CREATE_TIME for each in headers):
        deltas = deltas * np.repeat([each.timestamp_type == CREATE_TIME for each in headers], counts)
    largest = max(map(abs, bases)) + (int(np.abs(deltas).max()) if len(deltas) else 0)
    if largest > _TIMESTAMP_MAX:
        raise Unusual
    milliseconds = np.repeat(np.array(bases, np.int64), counts) + deltas
    return pa.array(milliseconds * _MICROSECONDS, pa.int64()).cast(TIMESTAMP)


def _headers(area: bytes, layout: RecordLayout) -> pa.Array:
    ends = np.cumsum(layout.header_counts)
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    keys, values = _take(area, layout.header_keys, layout.header_values)
    entries = pa.StructArray.from_arrays([_text(keys), values], fields=list(HEADER))
    is_none = pa.array(layout.header_counts == 0)
    return pa.ListArray.from_arrays(pa.array(offsets), entries, type=HEADERS, mask=is_none)


def _text(keys: pa.Array) -> pa.Array:
    """Return keys of headers as strings; bytes that are no UTF-8 are replaced, as Java does."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(
            [None if key is None else key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string()
        )


def _one_by_one(number: int, batch: memoryview, with_headers: bool) -> Iterator[Columns]:
    """Read one batch record by record, the exact way."""
    records: list[BatchRecord] = []
    size = 0
    for record in iter_records(batch):
        records.append(record)
        size += len(record.key or b"") + len(record.value or b"")
        if len(records) == ROWS or size > PIECE_BYTES:
            yield _columns_of(number, records, with_headers)
            records, size = [], 0
    if records:
        yield _columns_of(number, records, with_headers)


def _columns_of(number: int, records: Sequence[BatchRecord], with_headers: bool) -> Columns:
    if any(abs(record.timestamp) > _TIMESTAMP_MAX for record in records):
        raise DecodeError("the timestamp of a record does not fit into microseconds")
    return Columns(
        offsets=np.array([record.offset for record in records], np.int64),
        timestamps=pa.array([record.timestamp * _MICROSECONDS for record in records], TIMESTAMP),
        keys=pa.array([record.key for record in records], pa.binary()),
        values=pa.array([record.value for record in records], pa.binary()),
        headers=pa.array([_header_rows(record) for record in records], HEADERS) if with_headers else None,
        spans=[(number, len(records))],
    )


def _header_rows(record: BatchRecord) -> list[dict[str, str | bytes | None]] | None:
    rows: list[dict[str, str | bytes | None]] = [
        {"key": key.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), "value": value}
        for key, value in record.headers
    ]
    return rows or None
