"""A coordinator's topic as the runtime and the loader see it: `append`, `extent`, `read`.

The adapter between coordinators and the broker's partitions. The topic is created when it is first needed.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.runtime.outcome import Producer
from barnabas.broker.coordinator.runtime.shard import Appended
from barnabas.broker.runtime.replies import answer_nobody
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from barnabas.protocol.records.builder import NewRecord, build_batch, build_plain, build_single
from barnabas.protocol.records.compression import NONE
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.errors import StorageError
from barnabas.storage.log.append import AppendOrigin

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import Catalogue, Topic
    from barnabas.broker.partitions.partitions import Partitions


class CoordinatorTopic:
    """`__consumer_offsets` or `__transaction_state`. `compression` is the codec that its batches are written with."""

    def __init__(self, name: str, catalogue: Catalogue, partitions: Partitions, compression: int = NONE) -> None:
        self.name = name
        self._catalogue = catalogue
        self._partitions = partitions
        self._compression = compression

    def partition_count(self) -> int | None:
        """How many partitions the topic has; None while there is no such topic."""
        topic = self._catalogue.topics.get(self.name)
        return None if topic is None else len(topic.partitions)

    def create(self) -> int:
        """The number of partitions of the topic, which exists from now on. Raises KafkaError."""
        topic = self._catalogue.topics.get(self.name)
        return len((self._catalogue.create_internal_topic(self.name) if topic is None else topic).partitions)

    def leads(self, partition: int) -> bool:
        """Whether this node leads the partition, and so coordinates the keys in it."""
        return self._partitions.is_here(self.name, partition)

    def leader_epoch(self, partition: int) -> int:
        """The epoch this run leads the partition in. Raises KafkaError."""
        return self._partitions.get_led(self.name, partition).leader_epoch

    def answers_at_once(self, partition: int) -> bool:
        """Whether what is appended need not be waited for. False, too, before this run has appended anything."""
        log = self._partitions.led.get((self.name, partition))
        return log is not None and log.answers_at_once

    def append(
        self,
        partition: int,
        records: Sequence[tuple[bytes, bytes | None]],
        now_ms: int,
        producer: Producer | None = None,
    ) -> Appended:
        """Write (key, value) pairs as one batch, in the producer's transaction if one is given.

        Raises KafkaError and has then written nothing.
        """
        partitions = self._partitions
        log = partitions.get_led(self.name, partition)
        if producer is None and self._compression == NONE:
            batch = build_single(*records[0], now_ms) if len(records) == 1 else build_plain(records, now_ms)
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
        return Appended(result.base_offset, partitions.synced_log(log, result.last_offset + 1))

    def unsynced(self, partition: int) -> Future[None] | None:
        """Done once all that was appended is on the disk, where that is asked for; None when nobody has to wait."""
        log = self._partitions.led.get((self.name, partition))
        synced = None if log is None else self._partitions.synced_log(log, log.log_end_offset)
        if synced is not None:
            answer_nobody(synced)  # who asks may go by whether there is something to wait for
        return synced

    def append_marker(self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool) -> Appended:
        """End the producer's transaction on the partition. KafkaError, and nothing is written then."""
        partitions = self._partitions
        log = partitions.get_led(self.name, partition)
        result = partitions.append_marker_to(log, marker, transaction_version=transaction_version, hold=hold)
        return Appended(result.base_offset, partitions.synced_log(log, result.last_offset + 1))

    def release_marker(self, partition: int, producer_id: int) -> None:
        """Show readers of the log what was ended with `hold`."""
        self._partitions.release_marker(self.name, partition, producer_id)

    def extent(self, partition: int) -> tuple[int, int]:
        """The log's start offset and its end offset."""
        with _as_kafka_errors():
            log = self._partitions.get(self.name, partition)
        return log.log_start_offset, log.log_end_offset

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Batches from the one that holds `offset` on, at least one if there is any; the last may be cut.

        The high watermark is no bound: what was appended here was acknowledged, whoever else has it by now.
        """
        with _as_kafka_errors():
            return self._partitions.get(self.name, partition).read_own(offset, max_bytes)


@contextmanager
def _as_kafka_errors() -> Iterator[None]:
    """A disk that fails under a coordinator's topic is answered, like every other refusal, with a code."""
    try:
        yield
    except StorageError as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error


class TopicDeletions:
    """A catalogue listener that only cares about topics that go."""

    def __init__(self, forget: Callable[[str], None]) -> None:
        self._forget = forget

    def on_topic_deleted(self, topic: Topic) -> None:
        """What was committed for it goes with it."""
        self._forget(topic.name)

    def on_topic_created(self, topic: Topic) -> None:
        """A new topic has no offsets yet."""

    def on_partitions_added(self, topic: Topic, first_new: int) -> None:
        """New partitions have no offsets yet."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """The groups' settings are fixed at start."""
