# compiled: mypyc
"""A coordinator's topic as the runtime and the loader use it: `append`, `extent`, `read`.

The adapter between coordinators and the broker's partitions. The topic is created at its first use.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from barnabas.broker.coordinator.runtime.outcome import TransactionProducer
from barnabas.broker.coordinator.runtime.shard import AppendPosition
from barnabas.broker.runtime.replies import ignore_result
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from barnabas.protocol.records.builder import NewRecord, build_batch, build_plain, build_single
from barnabas.protocol.records.compression import NONE
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.errors import StorageError
from barnabas.storage.log.append import AppendOrigin

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import Catalogue, TopicImage
    from barnabas.broker.partitions.partitions import Partitions

_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


class CoordinatorTopic:
    """The topic of a coordinator. `compression` is the codec that its batches are written with."""

    def __init__(self, name: str, catalogue: Catalogue, partitions: Partitions, compression: int = NONE) -> None:
        self.name = name
        self._catalogue = catalogue
        self._partitions = partitions
        self._compression = compression

    def partition_count(self) -> int | None:
        """Return how many partitions the topic has; None if it does not exist."""
        topic = self._catalogue.topics.get(self.name)
        return None if topic is None else len(topic.partitions)

    def create(self) -> int:
        """Create the topic if necessary; return its number of partitions. Raises KafkaError."""
        topic = self._catalogue.topics.get(self.name)
        return len((self._catalogue.create_internal_topic(self.name) if topic is None else topic).partitions)

    def leads(self, partition: int) -> bool:
        """Return whether this node leads the partition, and so coordinates the keys in it."""
        return self._partitions.is_here(self.name, partition)

    def leader_epoch(self, partition: int) -> int:
        """Return the leader epoch of the partition in this run. Raises KafkaError."""
        return self._partitions.get_led(self.name, partition).leader_epoch

    def answers_at_once(self, partition: int) -> bool:
        """Return whether appended records need no wait. False, too, before this run has appended anything."""
        log = self._partitions.led.get((self.name, partition))
        return log is not None and log.answers_at_once

    def append(
        self,
        partition: int,
        records: Sequence[tuple[bytes, bytes | None]],
        now_ms: int,
        producer: TransactionProducer | None = None,
    ) -> AppendPosition:
        """Write (key, value) pairs as one batch, in the producer's transaction if one is given.

        Raises KafkaError, and then nothing is written.
        """
        partitions = self._partitions
        log = partitions.get_led(self.name, partition)
        if producer is None and self._compression == NONE:
            if len(records) == 1:
                key, value = records[0]
                batch = build_single(key, value, now_ms)
            else:
                batch = build_plain(records, now_ms)
            result = partitions.append_own(log, batch, len(records), now_ms)
        else:
            producer_id, epoch = producer or (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
            batch = build_batch(
                [NewRecord(key, value, (), now_ms) for key, value in records],
                compression=self._compression,
                producer_id=producer_id,
                producer_epoch=epoch,
                transactional=producer is not None,
            )
            result = partitions.append_to(log, batch, now_ms, AppendOrigin.COORDINATOR)
        return _new_tuple(AppendPosition, (result.base_offset, partitions.synced_log(log, result.last_offset + 1)))

    def unsynced(self, partition: int) -> Future[None] | None:
        """Return a future that is done once all appended records are on the disk; None if no wait is needed."""
        log = self._partitions.led.get((self.name, partition))
        synced = None if log is None else self._partitions.synced_log(log, log.log_end_offset)
        if synced is not None:
            ignore_result(synced)  # a caller may only test whether there is something to wait for
        return synced

    def append_marker(
        self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool
    ) -> AppendPosition:
        """End the producer's transaction on the partition. Raises KafkaError, and then nothing is written."""
        partitions = self._partitions
        log = partitions.get_led(self.name, partition)
        result = partitions.append_marker_to(log, marker, transaction_version=transaction_version, hold=hold)
        return _new_tuple(AppendPosition, (result.base_offset, partitions.synced_log(log, result.last_offset + 1)))

    def release_marker(self, partition: int, producer_id: int) -> None:
        """Show readers of the log the result of an end with `hold`."""
        self._partitions.release_marker(self.name, partition, producer_id)

    def delete_records_before(self, partition: int, offset: int) -> None:
        """Delete the records that are not needed any more. Raises KafkaError."""
        try:
            self._partitions.delete_records_before(self.name, partition, offset)
        except StorageError as error:
            raise _as_kafka_error(error) from error

    def extent(self, partition: int) -> tuple[int, int]:
        """Return the log's start offset and its end offset."""
        try:
            log = self._partitions.get(self.name, partition)
        except StorageError as error:
            raise _as_kafka_error(error) from error
        return log.log_start_offset, log.log_end_offset

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Return batches from the one with `offset` on, at least one if there is any; the last may be cut.

        The high watermark is no limit: records appended here were acknowledged, whichever replicas have them by now.
        """
        try:
            return self._partitions.get(self.name, partition).read_own(offset, max_bytes)
        except StorageError as error:
            raise _as_kafka_error(error) from error


def _as_kafka_error(error: StorageError) -> KafkaError:
    """Return KAFKA_STORAGE_ERROR for it: clients get a code for every refusal."""
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))


class TopicDeletions:
    """A catalogue listener only for deleted topics."""

    def __init__(self, forget: Callable[[str], None]) -> None:
        self._forget = forget

    def on_topic_deleted(self, topic: TopicImage) -> None:
        """Forget the deleted topic."""
        self._forget(topic.name)

    def on_topic_created(self, topic: TopicImage) -> None:
        """Do nothing: a new topic has no offsets yet."""

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        """Do nothing: new partitions have no offsets yet."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Do nothing: the groups' settings are fixed at start."""
