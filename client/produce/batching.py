"""Collected records before encoding: per partition, in batches of limited size. Pure.

Sizes are upper bounds for the uncompressed batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from barnabas.client.metadata import TopicPartition
from barnabas.client.produce.partition_queue import Outcome
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.records.batch import HEADER_SIZE
from barnabas.protocol.records.builder import NewRecord

RECORD_OVERHEAD = 21  # bytes of a record besides its key, value and headers, at most


class Delivery:
    """The outcome of one record: `offset` once it is acknowledged (-1 with acks 0), or `error`."""

    __slots__ = ("error", "offset", "partition", "topic")

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.offset: int | None = None
        self.error: Exception | None = None

    def result(self) -> int:
        """Return the offset; raise the error if there was one. Only after the producer was flushed."""
        if self.error is not None:
            raise self.error
        assert self.offset is not None, "flush the producer first"
        return self.offset


class CollectedBatch:
    """Records of one partition that will be sent as one batch."""

    __slots__ = ("deliveries", "records", "size")

    def __init__(self) -> None:
        self.records: list[NewRecord] = []
        self.deliveries: list[Delivery] = []
        self.size = HEADER_SIZE

    def add(self, record: NewRecord, delivery: Delivery, size: int) -> None:
        """Add a record of an estimated size."""
        self.records.append(record)
        self.deliveries.append(delivery)
        self.size += size

    def leave_out(self, errors: Mapping[int, KafkaError]) -> None:
        """Remove these records, by their index, and mark them as lost; the others are sent."""
        for index, error in errors.items():
            self.deliveries[index].error = error
        kept = [index for index in range(len(self.records)) if index not in errors]
        self.records = [self.records[index] for index in kept]
        self.deliveries = [self.deliveries[index] for index in kept]

    def settle(self, first: int, count: int, outcome: Outcome) -> None:
        """Set the outcome of `count` records from the `first` on."""
        for index, delivery in enumerate(self.deliveries[first : first + count]):
            if isinstance(outcome, KafkaError):
                delivery.error = outcome
            else:
                delivery.offset = -1 if outcome < 0 else outcome + index

    def fail(self, error: Exception) -> None:
        """Mark all records without an outcome as lost."""
        for delivery in self.deliveries:
            if delivery.offset is None and delivery.error is None:
                delivery.error = error


class Batches:
    """The records that wait to be sent, per partition, in order. Batches stay below `batch_bytes` if records do."""

    def __init__(self, batch_bytes: int) -> None:
        self.batch_bytes = batch_bytes
        self.size = 0
        self._waiting: dict[TopicPartition, deque[CollectedBatch]] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, where: TopicPartition, record: NewRecord, delivery: Delivery) -> bool:
        """Add a record. Return whether it opened a new batch because the last one was full."""
        size = record_size(record.key, record.value, record.headers)
        waiting = self._waiting.setdefault(where, deque())
        was_full = bool(waiting) and waiting[-1].size + size > self.batch_bytes
        if not waiting or was_full:
            waiting.append(CollectedBatch())
        waiting[-1].add(record, delivery, size)
        self.size += size
        return was_full

    def take(self) -> dict[TopicPartition, CollectedBatch]:
        """Remove and return the oldest batch of every partition, which may be sent together."""
        taken: dict[TopicPartition, CollectedBatch] = {}
        for where, waiting in list(self._waiting.items()):
            taken[where] = waiting.popleft()
            self.size -= taken[where].size - HEADER_SIZE
            if not waiting:
                del self._waiting[where]
        return taken


def record_size(key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = ()) -> int:
    """Return the largest size that a record adds to a batch."""
    size = RECORD_OVERHEAD + len(key or b"") + len(value or b"")
    for name, content in headers:
        size += 10 + len(name.encode("utf-8", "surrogateescape")) + len(content or b"")
    return size
