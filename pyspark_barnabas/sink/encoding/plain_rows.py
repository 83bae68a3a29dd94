"""The same as `arrow_batches`, row by row in plain Python, if numpy is missing: slow, and the oracle of its tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from barnabas.client.metadata import TopicPartition
from barnabas.client.produce.new_batch import NewBatch, encode
from barnabas.client.produce.partitioner import partition_for_key
from barnabas.protocol.records.batch import HEADER_SIZE
from barnabas.protocol.records.builder import NewRecord
from pyspark_barnabas.rows.digest import MODULUS, row_hash, tail
from pyspark_barnabas.sink.encoding.batch_layout import (
    HEAD_BYTES,
    BadRows,
    BatchLayout,
    bad_partition,
    no_topic,
    too_large,
)

_KEPT_BYTES = 32 * 1024 * 1024


class PlainEncoder:
    """An encoder with the interface of arrow_batches.Encoder."""

    def __init__(self, layout: BatchLayout, partitions_of: Callable[[str], int], now_ms: Callable[[], int]) -> None:
        self.rows = 0
        self.digest = 0
        self._layout = layout
        self._partitions_of = partitions_of
        self._now_ms = now_ms
        self._pending: dict[TopicPartition, list[NewRecord]] = {}
        self._sizes: dict[TopicPartition, int] = {}
        self._keyless_bytes = 0

    def add(self, batch: Any) -> Iterator[NewBatch]:
        """Add the rows of a RecordBatch; yield the batches that are full. Raise BadRows if they cannot be written."""
        if "value" not in batch.schema.names:
            raise BadRows(
                f"the rows have no column `value`, only {', '.join(batch.schema.names)}: give the column with the "
                "record's value this name, as text or bytes"
            )
        for row in batch.to_pylist():
            yield from self._add(row)
        if sum(self._sizes.values()) > _KEPT_BYTES:
            yield from self.finish()

    def finish(self) -> Iterator[NewBatch]:
        """Yield the remaining batches."""
        for where in list(self._pending):
            yield self._build(where)

    def _add(self, row: dict[str, Any]) -> Iterator[NewBatch]:
        layout = self._layout
        topic = row.get("topic")
        if topic is None:
            topic = layout.topic
        if topic is None:
            raise no_topic(_bytes(row.get("key")), row.get("partition"))
        key, value = _bytes(row.get("key")), _bytes(row["value"])
        own = [(each["key"], each["value"]) for each in row.get("headers") or ()]
        if any(name is None for name, _ in own):
            raise BadRows("a header has no name: give every entry of `headers` a key")
        record = NewRecord(key, value, [*own, *layout.fixed_headers], self._timestamp(row.get("timestamp")))
        its_tail = tail(key, value, record.headers)
        size = len(its_tail) + HEAD_BYTES
        if size + HEADER_SIZE > layout.max_batch_bytes:
            raise too_large(topic, size, layout.max_batch_bytes)
        where = topic, self._choose(topic, key, row.get("partition"), size)
        self.rows += 1
        self.digest = (self.digest + row_hash(topic, its_tail)) % MODULUS
        if where in self._pending and self._sizes[where] + size > layout.batch_bytes:
            yield self._build(where)
        self._pending.setdefault(where, []).append(record)
        self._sizes[where] = self._sizes.get(where, HEADER_SIZE) + size

    def _choose(self, topic: str, key: bytes | None, wanted: int | None, size: int) -> int:
        count = self._partitions_of(topic)
        if wanted is not None:
            if not 0 <= wanted < count:
                raise bad_partition(topic, wanted, count)
            return wanted
        if key is not None:
            return partition_for_key(key, count)
        before, self._keyless_bytes = self._keyless_bytes, self._keyless_bytes + size
        return (before // self._layout.batch_bytes + self._layout.first_partition) % count

    def _timestamp(self, given: Any) -> int:
        if given is None:
            return self._now_ms()
        stamp = given if isinstance(given, int) else _milliseconds(given)
        if stamp < 0:
            raise BadRows(
                "a row has a timestamp before 1970, which Kafka does not support: use null for the current time"
            )
        return stamp

    def _build(self, where: TopicPartition) -> NewBatch:
        del self._sizes[where]
        return encode(where, self._pending.pop(where), compression=self._layout.compression)


def _bytes(given: Any) -> bytes | None:
    return given.encode() if isinstance(given, str) else given


def _milliseconds(moment: Any) -> int:
    from datetime import datetime, timedelta, timezone

    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    return int((aware - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1))
