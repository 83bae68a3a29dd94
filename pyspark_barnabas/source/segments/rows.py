"""Stretches of logs as Arrow rows: one per record, one per batch, or one per finding.

Records are decoded many batches at a time, and the columns of a batch are repeated for its records by Arrow. If a
batch is whole and its records do not match their format, the batch becomes one row that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from barnabas.logfiles.findings import Finding
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.compression import COMPRESSION_NAMES
from pyspark_barnabas.source.decoding.decoded_columns import Columns, read_columns
from pyspark_barnabas.source.segments.splits import OffsetBounds
from pyspark_barnabas.source.segments.stretches import Stretch

_GROUP_BYTES = 1 << 20  # on the disk; a batch that is larger is decoded alone, piece by piece
_ROWS = 10_000
_MICROSECONDS = 1000
_SEQUENCE_MASK = 0x7FFFFFFF
_TIMESTAMP_MAX = (2**63 - 1) // _MICROSECONDS

Cell = Callable[[Stretch], Any]


def _of_header(name: str) -> Cell:
    return lambda each: None if each.header is None else getattr(each.header, name)


def _known(name: str) -> Cell:
    """Return a cell of a header's field in which -1 means that there is no value."""
    return lambda each: None if each.header is None or getattr(each.header, name) < 0 else getattr(each.header, name)


def _whole(name: str) -> Cell:
    """Return a cell of a header's field that is only valid if the batch is whole."""
    return lambda each: None if each.header is None or each.damage else getattr(each.header, name)


def _time(name: str) -> Cell:
    return lambda each: None if each.header is None or each.damage else _microseconds(getattr(each.header, name))


_BATCH: dict[str, Cell] = {
    "topic": lambda each: each.topic,
    "partition": lambda each: each.partition,
    "base_offset": _of_header("base_offset"),
    "leader_epoch": _known("partition_leader_epoch"),
    "producer_id": _known("producer_id"),
    "producer_epoch": _known("producer_epoch"),
    "base_sequence": _known("base_sequence"),
    "is_transactional": _whole("is_transactional"),
    "is_control": _whole("is_control"),
    "control_type": lambda each: each.control_type,
    "outcome": lambda each: None if each.outcome is None else each.outcome.value,
    "crc_ok": lambda each: each.crc_ok,
    "damage": lambda each: each.damage,
    "file": lambda each: each.path,
    "position": lambda each: each.position,
    "timestamp_type": _whole("timestamp_type"),
    "last_offset": _of_header("last_offset"),
    "records": _whole("records_count"),
    "size": lambda each: each.size,
    "compression": lambda each: (
        None if each.header is None or each.damage else COMPRESSION_NAMES.get(each.header.compression)
    ),
    "base_timestamp": _time("base_timestamp"),
    "max_timestamp": _time("max_timestamp"),
    "last_sequence": lambda each: (
        None if each.header is None or each.header.base_sequence < 0 else each.header.last_sequence
    ),
}


def batch_rows(stretches: Iterable[Stretch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield a row for each stretch."""
    group: list[Stretch] = []
    for stretch in stretches:
        group.append(stretch._replace(batch=None))  # the bytes are not stored
        if len(group) == _ROWS:
            yield _batch_rows(group, schema)
            group = []
    if group:
        yield _batch_rows(group, schema)


def _batch_rows(group: Sequence[Stretch], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array([_BATCH[field.name](each) for each in group], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def finding_rows(rows: Iterable[tuple[str, int, Finding]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield a row for each finding, with the topic and the partition in front."""
    table = [
        (topic, partition, found.path, found.position, found.offset, found.kind.value, found.detail)
        for topic, partition, found in rows
    ]
    if table:
        columns = list(zip(*table, strict=True))
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def record_rows(stretches: Iterable[Stretch], offsets: OffsetBounds, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield a row for each record within `offsets`, and one for each stretch without a readable record."""
    group: list[Stretch] = []
    size = 0
    for stretch in stretches:
        if stretch.batch is None or stretch.size > _GROUP_BYTES:
            yield from _decode(group, offsets, schema)
            group, size = [], 0
            yield from _decode_alone(stretch, offsets, schema)
            continue
        group.append(stretch)
        size += stretch.size
        if size > _GROUP_BYTES:
            yield from _decode(group, offsets, schema)
            group, size = [], 0
    yield from _decode(group, offsets, schema)


def _decode(group: Sequence[Stretch], offsets: OffsetBounds, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        found = list(read_columns(_batches(group), with_headers=True))
    except DecodeError:
        for stretch in group:
            yield from _decode_alone(stretch, offsets, schema)
        return
    for columns in found:
        yield from _record_rows(group, columns, offsets, schema)


def _decode_alone(stretch: Stretch, offsets: OffsetBounds, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if stretch.batch is None:
        yield _row_of_damage(stretch, schema)
        return
    try:
        for columns in read_columns(_batches([stretch]), with_headers=True):
            yield from _record_rows([stretch], columns, offsets, schema)
    except DecodeError as error:
        damage = f"the batch is complete, but its records cannot be read: {error}"
        yield _row_of_damage(stretch._replace(damage=damage), schema)


def _batches(group: Iterable[Stretch]) -> Iterator[Any]:
    return ((each.header, each.batch) for each in group)


def _row_of_damage(stretch: Stretch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array([_BATCH[field.name](stretch) if field.name in _BATCH else None], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _record_rows(
    group: Sequence[Stretch], columns: Columns, offsets: OffsetBounds, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    rows = np.repeat([number for number, _ in columns.spans], [count for _, count in columns.spans])
    headers = [each.header for each in group if each.header is not None]
    bases = np.array([header.base_offset for header in headers], np.int64)[rows]
    sequences = np.array([header.base_sequence for header in headers], np.int64)[rows]
    sequence = (sequences + columns.offsets - bases) & _SEQUENCE_MASK
    found: dict[str, Any] = {
        "offset": pa.array(columns.offsets, pa.int64()),
        "timestamp": columns.timestamps,
        "key": columns.keys,
        "value": columns.values,
        "headers": columns.headers,
        "sequence": pa.array(sequence.astype(np.int32), pa.int32(), mask=sequences < 0),
    }
    indices = pa.array(rows, pa.int32())
    arrays = [
        found[field.name]
        if field.name in found
        else pa.array([_BATCH[field.name](each) for each in group], field.type).take(indices)
        for field in schema
    ]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    mask = columns.offsets >= offsets.start
    if offsets.end is not None:
        mask &= columns.offsets < offsets.end
    yield batch if mask.all() else batch.filter(pa.array(mask))


def _microseconds(timestamp_ms: int) -> int:
    """Return the time in Arrow's unit; times out of its range become the nearest one within it."""
    return min(max(timestamp_ms, -_TIMESTAMP_MAX), _TIMESTAMP_MAX) * _MICROSECONDS
