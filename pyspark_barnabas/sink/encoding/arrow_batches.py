"""Arrow batches to record batches, one partition each, without a step of Python per row.

Theory of operation: the tails of all rows of an Arrow batch (`encoded_columns`) are built at once, and hashed; then
they are put into the order of their partitions, and each partition's are buffered, as slices, until they fill a record
batch, whose record heads are joined to them. Keys go where Kafka's clients put them; rows without one go to one
partition until a batch is full, and then to the next.

Invariants: rows of one partition keep their order. The buffer is bounded: slices keep the Arrow batches alive that
they were cut from, so everything is yielded after `_KEPT_BYTES` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.client.metadata import TopicPartition
from barnabas.client.produce.new_batch import NewBatch
from barnabas.protocol.records.batch import HEADER_SIZE
from barnabas.protocol.records.compression import compress
from pyspark_barnabas.rows import encoded_columns
from pyspark_barnabas.rows.digest import MODULUS, digest, seed
from pyspark_barnabas.sink.encoding.batch_layout import HEAD_BYTES, BatchLayout, bad_partition, no_topic, too_large
from pyspark_barnabas.sink.encoding.columns import NO_PARTITION, Rows, read_rows

_KEPT_BYTES = 32 * 1024 * 1024
_PIECE_BYTES = 32 * 1024 * 1024


@dataclass(slots=True)
class _Pending:
    """Rows of one partition that wait for their batch to fill: slices of tails, and of timestamps."""

    tails: list[Any] = field(default_factory=list)
    timestamps: list[Any] = field(default_factory=list)
    size: int = HEADER_SIZE


class Encoder:
    """Makes batches out of the rows of one task; counts the rows, and computes their digest.

    partitions_of: how many partitions a topic has. now_ms: for rows without a timestamp.
    """

    def __init__(self, layout: BatchLayout, partitions_of: Callable[[str], int], now_ms: Callable[[], int]) -> None:
        self.rows = 0
        self.digest = 0
        self._layout = layout
        self._partitions_of = partitions_of
        self._now_ms = now_ms
        self._pending: dict[TopicPartition, _Pending] = {}
        self._kept_bytes = 0
        self._keyless_bytes = 0

    def add(self, batch: Any) -> Iterator[NewBatch]:
        """Add the rows of a RecordBatch; yield the batches that are full. Raise BadRows if they cannot be written."""
        for piece in _pieces(batch):
            yield from self._add(read_rows(piece, self._now_ms()), len(piece))

    def finish(self) -> Iterator[NewBatch]:
        """Yield the remaining batches."""
        for where, pending in self._pending.items():
            yield _build(where, pending, self._layout.compression)
        self._pending.clear()
        self._kept_bytes = 0

    def _add(self, rows: Rows, count: int) -> Iterator[NewBatch]:
        topics, codes = self._topics(rows, count)
        tails = encoded_columns.tails(rows.key, rows.value, rows.headers, self._layout.fixed_headers)
        seeds = np.array([seed(topic) for topic in topics], np.uint64)
        self.digest = (self.digest + digest(tails, seeds[codes])) % MODULUS
        self.rows += count

        sizes = np.diff(encoded_columns.views(tails)[0]).astype(np.int64) + HEAD_BYTES
        self._check_sizes(sizes, topics, codes)
        counts = np.array([self._partitions_of(topic) for topic in topics], np.int64)
        partitions = self._choose(rows, sizes, topics, codes, counts)
        first_place = np.cumsum(counts) - counts
        places = first_place[codes] + partitions
        self._kept_bytes += int(sizes.sum())

        timestamps = rows.timestamp
        if int(places.min()) != int(places.max()):
            order = np.argsort(places, kind="stable")
            tails, timestamps = tails.take(pa.array(order)), timestamps[order]
            places, sizes = places[order], sizes[order]
        ends = np.append(np.flatnonzero(np.diff(places)) + 1, count).tolist()
        for start, end in zip([0, *ends], ends, strict=False):
            place = int(places[start])
            code = int(np.searchsorted(first_place, place, "right")) - 1
            where = topics[code], place - int(first_place[code])
            yield from self._keep(where, tails[start:end], timestamps[start:end], sizes[start:end])
        if not self._pending:
            self._kept_bytes = 0
        elif self._kept_bytes > _KEPT_BYTES:
            yield from self.finish()

    def _topics(self, rows: Rows, count: int) -> tuple[list[str], Any]:
        """Return the topics of the rows, and the index of each row's topic."""
        column, default = rows.topic, self._layout.topic
        if column is None or (column.null_count and default is None):
            if default is None:
                row = 0 if column is None else column.is_null().index(True).as_py()
                wanted = NO_PARTITION if rows.partition is None else int(rows.partition[row])
                key = None if rows.key is None else rows.key[row].as_py()
                raise no_topic(key, None if wanted == NO_PARTITION else wanted)
            return [default], np.zeros(count, np.int64)
        if column.null_count:
            column = column.fill_null(default)
        encoded = pc.dictionary_encode(column)
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)

    def _check_sizes(self, sizes: Any, topics: list[str], codes: Any) -> None:
        most = self._layout.max_batch_bytes - HEADER_SIZE
        largest = int(sizes.argmax())
        if sizes[largest] > most:
            raise too_large(topics[codes[largest]], int(sizes[largest]), self._layout.max_batch_bytes)

    def _choose(self, rows: Rows, sizes: Any, topics: list[str], codes: Any, counts: Any) -> Any:
        """Return the partition of each row."""
        count_of_row = counts[codes]
        if rows.key is None:
            partitions = self._spread(sizes, count_of_row)
        else:
            partitions = (encoded_columns.murmur2(rows.key) & np.uint32(0x7FFFFFFF)).astype(np.int64) % count_of_row
            if rows.key.null_count:
                without = np.flatnonzero(rows.key.is_null().to_numpy(zero_copy_only=False))
                partitions[without] = self._spread(sizes[without], count_of_row[without])
        if rows.partition is not None:
            partitions = np.where(rows.partition == NO_PARTITION, partitions, rows.partition)
            wrong = np.flatnonzero(partitions >= count_of_row)
            if len(wrong):
                raise bad_partition(topics[codes[wrong[0]]], int(partitions[wrong[0]]), int(count_of_row[wrong[0]]))
        return partitions

    def _spread(self, sizes: Any, counts: Any) -> Any:
        """Choose partitions for rows without a key: the next one whenever a batch is full."""
        behind = self._keyless_bytes + np.cumsum(sizes)
        self._keyless_bytes = int(behind[-1])
        return ((behind - sizes) // self._layout.batch_bytes + self._layout.first_partition) % counts

    def _keep(self, where: TopicPartition, tails: Any, timestamps: Any, sizes: Any) -> Iterator[NewBatch]:
        behind = np.cumsum(sizes)
        start = taken = 0
        while start < len(sizes):
            pending = self._pending.setdefault(where, _Pending())
            room = max(0, self._layout.batch_bytes - pending.size)  # a batch's header may already be larger
            stop = int(np.searchsorted(behind, taken + room, "right"))
            if stop == start and not pending.tails:
                stop += 1  # a separate batch
            if stop > start:
                pending.tails.append(tails[start:stop])
                pending.timestamps.append(timestamps[start:stop])
                pending.size += int(behind[stop - 1]) - taken
                taken = int(behind[stop - 1])
            if stop < len(sizes) or pending.size >= self._layout.batch_bytes:
                del self._pending[where]
                yield _build(where, pending, self._layout.compression)
            start = stop


def _pieces(batch: Any) -> Iterator[Any]:
    """Yield the batch in parts that need little memory; a row is never cut."""
    if len(batch) > 1 and batch.nbytes > _PIECE_BYTES:
        middle = len(batch) // 2
        yield from _pieces(batch.slice(0, middle))
        yield from _pieces(batch.slice(middle))
    elif len(batch):
        yield batch


def _build(where: TopicPartition, pending: _Pending, compression: int) -> NewBatch:
    tails = pending.tails[0] if len(pending.tails) == 1 else pa.concat_arrays(pending.tails)
    stamps = pending.timestamps[0] if len(pending.timestamps) == 1 else np.concatenate(pending.timestamps)
    offsets, offset_sizes = _offset_deltas(1 << max(12, (len(tails) - 1).bit_length()))
    body_sizes = np.diff(encoded_columns.views(tails)[0]) + offset_sizes[: len(tails)]
    deltas = stamps - stamps[0]
    if deltas.any():
        times = encoded_columns.varints(deltas)
        body_sizes = body_sizes + np.diff(encoded_columns.views(times)[0]) + 1
        records = encoded_columns.join(encoded_columns.varints(body_sizes), b"\0", times, offsets[: len(tails)], tails)
    else:
        records = encoded_columns.join(encoded_columns.varints(body_sizes + 2), b"\0\0", offsets[: len(tails)], tails)
    area = memoryview(records.buffers()[2])[: encoded_columns.views(records)[0][-1]]
    return NewBatch(
        *where,
        records=compress(compression, area) if compression else area,
        count=len(tails),
        base_timestamp=int(stamps[0]),
        max_timestamp=int(stamps.max()),
        compression=compression,
    )


@lru_cache(maxsize=4)
def _offset_deltas(count: int) -> tuple[Any, Any]:
    """Return the varints of 0, 1, 2 … and their sizes."""
    deltas = encoded_columns.varints(np.arange(count, dtype=np.int64))
    return deltas, np.diff(encoded_columns.views(deltas)[0]).astype(np.int64)
