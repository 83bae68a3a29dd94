"""A coordinator's topic in memory, made of real batches: what a crash leaves is what was appended."""

import asyncio
from collections.abc import Sequence

from barnabas.broker.coordinator.runtime.outcome import TransactionProducer
from barnabas.broker.coordinator.runtime.shard import AppendPosition
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.batch import BatchHeader, iter_batches
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import EndTxnMarker, end_txn_marker
from barnabas.protocol.records.record import BatchRecord, iter_records
from tests.support.records.batches import patch_offset_and_epoch


class MemoryTopic:
    """Appends, reads, refuses on request, and can hold back its syncs."""

    def __init__(self, partitions: int = 50) -> None:
        self.name = "__consumer_offsets"
        self._partitions = partitions
        self._logs: dict[int, bytearray] = {}
        self._end_offsets: dict[int, int] = {}
        self.exists = False
        self.refuse_with: ErrorCode | None = None
        """Appends fail with this code while it is set."""
        self.loop: asyncio.AbstractEventLoop | None = None
        """While it is set, appends are not on disk before `sync`."""
        self._unsynced: list[asyncio.Future[None]] = []
        self.batches_count = 0
        self.held: list[tuple[int, int]] = []
        """(partition, producer id) of markers that are not released yet."""

    def partition_count(self) -> int | None:
        return self._partitions if self.exists else None

    def leads(self, partition: int) -> bool:
        return True

    def create(self) -> int:
        self.exists = True
        return self._partitions

    def append(
        self,
        partition: int,
        records: Sequence[tuple[bytes, bytes | None]],
        now_ms: int,
        producer: TransactionProducer | None = None,
    ) -> AppendPosition:
        if self.refuse_with is not None:
            raise KafkaError(self.refuse_with)
        rows = [NewRecord(key, value, (), now_ms) for key, value in records]
        if producer is None:
            return self.append_batch(partition, build_batch(rows))
        producer_id, epoch = producer
        return self.append_batch(
            partition, build_batch(rows, producer_id=producer_id, producer_epoch=epoch, transactional=True)
        )

    def append_marker(
        self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool
    ) -> AppendPosition:
        if self.refuse_with is not None:
            raise KafkaError(self.refuse_with)
        commit, producer_id, epoch, coordinator_epoch, _, timestamp = marker
        if hold:
            self.held.append((partition, producer_id))
        return self.append_batch(partition, end_txn_marker(commit, producer_id, epoch, coordinator_epoch, timestamp))

    def release_marker(self, partition: int, producer_id: int) -> None:
        self.held.remove((partition, producer_id))

    def append_batch(self, partition: int, batch: bytearray) -> AppendPosition:
        """Any batch, as a producer or a transaction coordinator would write it."""
        base_offset = self._end_offsets.get(partition, 0)
        patch_offset_and_epoch(batch, base_offset, 0)
        self._logs.setdefault(partition, bytearray()).extend(batch)
        self._end_offsets[partition] = next(iter_batches(batch))[1].next_offset
        self.batches_count += 1
        if self.loop is None:
            return AppendPosition(base_offset, None)
        self._unsynced.append(self.loop.create_future())
        return AppendPosition(base_offset, self._unsynced[-1])

    def unsynced(self, partition: int) -> asyncio.Future[None] | None:
        """Of any partition: they are synced together."""
        return self._unsynced[-1] if self._unsynced else None

    def sync(self, failure: KafkaError | None = None) -> None:
        """What was appended is on disk now, or never will be."""
        unsynced, self._unsynced = self._unsynced, []
        for future in unsynced:
            if failure is None:
                future.set_result(None)
            else:
                future.set_exception(failure)

    def extent(self, partition: int) -> tuple[int, int]:
        return 0, self._end_offsets.get(partition, 0)

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        log = self._logs.get(partition, bytearray())
        chosen = bytearray()
        for position, header in iter_batches(log):
            if header.next_offset <= offset:
                continue
            if chosen and len(chosen) + header.size_in_bytes > max_bytes:
                break
            chosen += log[position : position + header.size_in_bytes]
        return bytes(chosen)

    def records(self, partition: int) -> list[BatchRecord]:
        """Every record of a partition, in order."""
        return [record for _, batch in self.batches(partition) for record in iter_records(batch)]

    def batches(self, partition: int) -> list[tuple[BatchHeader, bytes]]:
        """Every batch of a partition, in order."""
        log = bytes(self._logs.get(partition, b""))
        return [(header, log[position : position + header.size_in_bytes]) for position, header in iter_batches(log)]

    def damage(self, partition: int, position: int) -> None:
        """Change one byte of the log."""
        self._logs[partition][position] ^= 0xFF
