# compiled: mypyc
"""The partitions of this broker: from (topic, partition) to its log, opened at its first use.

Knows the catalogue (the partitions that exist) and the log directory (the files on disk); knows no request. Every
change of a partition goes through here or is reported here, so that parked requests wake up.

Theory of operation: a log is opened (and recovered) at its first use in this run. If that takes long, the caller gets
StillRecovering, and the log is available later (recoveries.py); a failure is remembered (failed_openings.py). The first
append also raises the leader epoch, durably; reads do not, but see the log in that epoch already. When a topic is
deleted, its logs are closed at once and their directories renamed; requests that wait are woken.

Invariants: only partitions that this node leads are open; at most one open log per partition, and none while it is
being recovered; an open log has the leader epoch that Metadata announces, and for one in `led` it is on the disk; logs
of deleted topics are in no table; after `close_all` none is.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from barnabas.broker.config.resources.log_configs import log_config
from barnabas.broker.metadata.image.image import TOPIC_RESOURCE
from barnabas.broker.partitions.disk_space.storage_failures import StorageFailures
from barnabas.broker.partitions.opening.failed_openings import FailedOpenings
from barnabas.broker.partitions.opening.partition_opening import PartitionOpening
from barnabas.broker.partitions.opening.recoveries import OpensLater, Recoveries, StillRecovering
from barnabas.broker.partitions.opening.recovery_log import log_opening
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.batch import BatchHeader, WritableBuffer
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.errors import DirectoryOffline, StorageError
from barnabas.storage.log.append import AppendOrigin, AppendResult
from barnabas.storage.producers.refused_batches import RefusedBatches

if TYPE_CHECKING:
    from asyncio import Future

    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.metadata.cluster.node_view import NodeView
    from barnabas.broker.metadata.image.image import TopicImage
    from barnabas.broker.partitions.flush.group_flush import GroupFlush
    from barnabas.broker.partitions.purgatory import PartitionKey, Purgatory
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.scheduler import CooperativeScheduler
    from barnabas.broker.runtime.workers.workers import Workers
    from barnabas.storage.config import LogConfig
    from barnabas.storage.directories.log_directories import LogDirectories
    from barnabas.storage.log.log import PartitionLog

_log = logger("storage")
_CLIENT: Final = AppendOrigin.CLIENT


class ClosedLogTotals:
    """The totals appended in this run to logs that are closed now: of partitions that were deleted, or moved.

    Exported counters (broker/http/metrics) must never decrease, and a log that is opened again counts from zero.
    """

    def __init__(self) -> None:
        self.records = 0
        self.size = 0
        """In bytes."""

    def add(self, log: PartitionLog) -> None:
        """Add the counters of a log that is released."""
        records, size = log.appended
        self.records += records
        self.size += size


class Partitions:
    """All partitions of one broker. A `CatalogueListener`."""

    def __init__(
        self,
        catalogue: Catalogue,
        directory: LogDirectories,
        config: BrokerConfig,
        cluster: NodeView,
        *,
        clock: Clock,
        machine_clock: Clock,
        upkeep: CooperativeScheduler,
        workers: Workers,
        waiters: Purgatory,
        flush: GroupFlush,
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self.directory = directory
        self._catalogue = catalogue
        self._config = config
        self._cluster = cluster
        self._clock = clock
        self._waiters = waiters
        self._flush = flush
        self._random_bytes = random_bytes
        self.storage_failed = StorageFailures(machine_clock).note
        self.failed = FailedOpenings(machine_clock)
        self.workers = workers
        self.recoveries = Recoveries(upkeep, workers, config, self._recovered)
        self._open: dict[PartitionKey, PartitionLog] = {}
        self.led: dict[PartitionKey, PartitionLog] = {}
        """The logs that may be appended to at once; `get_led` gives the others. Not to be changed from outside."""
        self._refused: dict[PartitionKey, RefusedBatches] = {}  # of those that are not open
        self._is_closed = False
        self.past_appends = ClosedLogTotals()
        self.when_released: list[Callable[[str, int], None]] = []  # callers that store logs must look this one up again
        catalogue.subscribe(self)

    def get(self, topic: str, partition: int) -> PartitionLog:
        """Return the log, for reading.

        Raise KafkaError UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR, or StillRecovering.
        """
        log = self._open.get((topic, partition))
        return log if log is not None else self.open_log(topic, partition)

    def get_if_written(
        self, topic: str, partition: int, on_disk: Container[tuple[str, int]] | None = None
    ) -> PartitionLog | None:
        """Return the log, opened if need be, or None if it was never written to; no directory is made. Raises as `get`.

        on_disk: the partitions that have a directory, from a caller that requests many.
        """
        is_at_rest = not self.is_open(topic, partition) and self.is_here(topic, partition)
        if is_at_rest and (topic, partition) not in (self.directory.partitions if on_disk is None else on_disk):
            return None
        return self.get(topic, partition)

    def get_to_read(self, topic: str, partition: int, any_replica: bool, in_turn: bool) -> PartitionLog:
        """Return the log for a Fetch. any_replica: even if this node is not the leader. in_turn: as in `open_log`."""
        log = self._open.get((topic, partition))
        return log if log is not None else self.open_log(topic, partition, in_turn=in_turn)

    def get_led(self, topic: str, partition: int) -> PartitionLog:
        """Return the log, for appending: its leader epoch is on the disk. Raises KafkaError as `get` does."""
        log = self.led.get((topic, partition))
        return log if log is not None else self._lead(topic, partition)

    def lead(self, keys: Iterable[PartitionKey]) -> list[PartitionKey]:
        """Raise the leader epochs of partitions not appended to in this run, in one write, and return these partitions.

        `get_led`, which would do it for each, refuses a partition that does not exist, or cannot be written.
        """
        unled = [key for key in keys if key not in self.led and self.is_here(*key)]
        with suppress(KafkaError):  # `get_led` gets it again, for the partition it belongs to
            if len(unled) > 1 and not self._is_closed:
                self._catalogue.lead(unled)
        return unled

    def exists(self, topic: str, partition: int) -> bool:
        """Return whether the catalogue has the partition."""
        found = self._catalogue.topics.get(topic)
        return found is not None and 0 <= partition < len(found.partitions)

    def is_here(self, topic: str, partition: int) -> bool:
        """Return whether it exists, and this node leads it: partitions of other leaders are not opened here."""
        return self.exists(topic, partition) and self._cluster.leads(topic, partition)

    def is_open(self, topic: str, partition: int) -> bool:
        """Return whether the log is open."""
        return (topic, partition) in self._open

    def is_used(self, topic: str, partition: int) -> bool:
        """Return whether it is open, or about to be."""
        return (topic, partition) in self._open or (topic, partition) in self.recoveries

    def close(self, topic: str, partition: int) -> None:
        """Close a log that is not appended to; it is opened again at its next use."""
        if (topic, partition) not in self.led and (topic, partition) in self._open:
            try:
                self.directory.close_log(topic, partition)
                del self._open[topic, partition]
            except StorageError as error:
                self.storage_failed(topic, partition, "close", error)

    def release(self, topic: str, partition: int) -> None:
        """Close a log that may be led, in a turn without appends to it. After a StorageError it is open as before."""
        self.directory.close_log(topic, partition)
        self._forget(topic, partition)

    def _forget(self, topic: str, partition: int) -> None:
        log = self._open.pop((topic, partition), None)
        self.led.pop((topic, partition), None)
        if log is not None:
            self.past_appends.add(log)
        for notify in self.when_released:
            notify(topic, partition)

    def unopened(self) -> list[PartitionKey]:
        """Return the partitions that have a directory, are led here and are not in use; in no order."""
        return [key for key in self.directory.partitions if not self.is_used(*key) and self.is_here(*key)]

    def open_logs(self, topic: str | None = None) -> Iterator[PartitionLog]:
        """Return the logs that are open now, of one topic that exists or of all."""
        if topic is None:
            return iter(list(self._open.values()))
        numbers = range(len(self._catalogue.topics[topic].partitions))
        return iter([self._open[topic, number] for number in numbers if (topic, number) in self._open])

    def open_log(
        self, topic: str, partition: int, *, in_background: bool = False, in_turn: bool = False
    ) -> PartitionLog:
        """Open a log, for `get`. in_background: at low priority. in_turn: OpensLater if the turn's time is over."""
        if self._is_closed:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the broker has stopped")
        found = self._catalogue.topics.get(topic)
        if found is None or not 0 <= partition < len(found.partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{partition}")
        self._cluster.check_leads(topic, partition)
        key = topic, partition
        if key in self.recoveries:
            if not in_background:
                self.recoveries.hurry(key)
            raise StillRecovering(topic, partition, self.recoveries)
        self.failed.check(key)
        if in_turn and self.recoveries.turn_is_over:
            raise OpensLater(topic, partition, self.recoveries)
        settings = log_config(self._config, found.configs)
        unopened = PartitionOpening(self.directory, found, partition, settings, self._clock.now_ms)
        try:
            log = self.recoveries.begin(unopened, in_background=in_background)
        except StorageError as error:
            raise self._not_opened(key, error) from error
        if log is None:
            if not in_background:
                _log.info(line("partition is being recovered", topic=topic, partition=partition))
            raise StillRecovering(topic, partition, self.recoveries)
        self._opened(key, log)
        return log

    def _recovered(self, key: PartitionKey, outcome: PartitionLog | StorageError | None) -> None:
        if isinstance(outcome, StorageError):
            self._not_opened(key, outcome)
        elif outcome is not None:
            outcome.config = log_config(self._config, self._catalogue.topics[key[0]].configs)  # it may have changed
            self._opened(key, outcome)
        self._waiters.wake(*key)

    def _opened(self, key: PartitionKey, log: PartitionLog) -> None:
        self.failed.forget(key)
        log.set_leader_epoch(self._cluster.leader_epoch(self._catalogue.topics[key[0]].partitions[key[1]]))
        self._open[key] = log
        for header, refused_ms in self._refused.pop(key, ()):
            log.note_refused(header, refused_ms)
        log_opening(log)

    def _not_opened(self, key: PartitionKey, error: StorageError) -> KafkaError:
        if not isinstance(error, DirectoryOffline):
            self.failed.note(key, error)
        return self.storage_failed(*key, "open", error)

    def recovered(self, keys: Iterable[PartitionKey], timeout_ms: int) -> Future[None]:
        """Return a future, done when one of the partitions is not being recovered any more, or after the timeout."""
        wanted = tuple(keys)
        return self._waiters.until(wanted, timeout_ms, lambda: any(key not in self.recoveries for key in wanted))

    def stop_recovering(self) -> None:
        """Stop all recoveries because the broker stops: the next start does them; requests are refused until then."""
        self.recoveries.close()

    def close_all(self) -> None:
        """Refuse all requests for a log from now on, because the broker has stopped."""
        self._is_closed = True
        self._open.clear()
        self.led.clear()

    def _lead(self, topic: str, partition: int) -> PartitionLog:
        log = self.get(topic, partition)
        leader_epoch = self._catalogue.leader_epoch(topic, partition)
        assert leader_epoch == log.leader_epoch, (topic, partition, leader_epoch, log.leader_epoch)
        self.led[topic, partition] = log
        return log

    # --- changing --------------------------------------------------------------------------------------------------

    def append(
        self, topic: str, partition: int, batch: WritableBuffer, *, origin: AppendOrigin = _CLIENT
    ) -> AppendResult:
        """Append one batch and wake the requests that wait for it. Raises KafkaError; `AppendRefused` is one."""
        return self.append_to(self.get_led(topic, partition), batch, self._clock.now_ms(), origin)

    def append_to(
        self,
        log: PartitionLog,
        batch: WritableBuffer,
        now_ms: int,
        origin: AppendOrigin = _CLIENT,
        produce_version: int = 13,
        walked: bool = False,
    ) -> AppendResult:
        """Append one batch, as `append` does, to a log from `get_led`."""
        try:
            result = log.append(
                batch,
                leader_epoch=log.leader_epoch,
                now_ms=now_ms,
                origin=origin,
                produce_version=produce_version,
                walked=walked,
            )
        except StorageError as error:
            raise self.storage_failed(log.topic, log.partition, "append", error) from error
        self._waiters.wake(log.topic, log.partition)
        return result

    def append_plain(self, log: PartitionLog, batch: WritableBuffer, now_ms: int) -> int:
        """Call PartitionLog.append_plain on a log from `led`: -1 if the batch is not plain. KafkaError as `append`."""
        try:
            first_offset = log.append_plain(batch, log.leader_epoch, now_ms)
        except StorageError as error:
            raise self.storage_failed(log.topic, log.partition, "append", error) from error
        if first_offset >= 0:
            self._waiters.wake(log.topic, log.partition)
        return first_offset

    def note_refused(self, topic: str, partition: int, header: BatchHeader, now_ms: int) -> None:
        """Note that a client's batch was refused for now: PartitionLog.note_refused, as soon as the log is open."""
        log = self._open.get((topic, partition))
        if log is not None:
            log.note_refused(header, now_ms)
        elif self.is_here(topic, partition):
            self._refused.setdefault((topic, partition), RefusedBatches()).add(header, now_ms)

    def append_own(self, log: PartitionLog, batch: bytearray, records_count: int, now_ms: int) -> AppendResult:
        """Append a coordinator's new batch to a log from `get_led`: PartitionLog.append_own. Raises KafkaError."""
        try:
            result = log.append_own(batch, records_count, now_ms, leader_epoch=log.leader_epoch, now_ms=now_ms)
        except StorageError as error:
            raise self.storage_failed(log.topic, log.partition, "append", error) from error
        self._waiters.wake(log.topic, log.partition)
        return result

    def check_replicated(self, log: PartitionLog) -> None:
        """Raise KafkaError if a batch with acks=all may not be acknowledged any more: never, with a single node."""

    def append_marker(
        self,
        topic: str,
        partition: int,
        marker: EndTxnMarker,
        *,
        transaction_version: int = 0,
        hold: bool = False,
    ) -> AppendResult:
        """End a producer's transaction on a partition: PartitionLog.append_marker. Raises KafkaError as `append`."""
        log = self.get_led(topic, partition)
        return self.append_marker_to(log, marker, transaction_version=transaction_version, hold=hold)

    def append_marker_to(
        self, log: PartitionLog, marker: EndTxnMarker, *, transaction_version: int = 0, hold: bool = False
    ) -> AppendResult:
        """Append a marker, as `append_marker` does, to a log from `get_led`."""
        try:
            result = log.append_marker(
                marker,
                leader_epoch=log.leader_epoch,
                now_ms=self._clock.now_ms(),
                transaction_version=transaction_version,
                hold=hold,
            )
        except StorageError as error:
            raise self.storage_failed(log.topic, log.partition, "append a marker to", error) from error
        self._waiters.wake(log.topic, log.partition)
        return result

    def release_marker(self, topic: str, partition: int, producer_id: int) -> None:
        """Make visible what was ended with `hold`. Does nothing for a partition that was deleted meanwhile."""
        log = self._open.get((topic, partition))
        if log is not None:
            log.release_marker(producer_id)
            self._waiters.wake(topic, partition)

    def synced(self, topic: str, partition: int, offset: int) -> Future[None] | None:
        """Return None if no wait is needed, else a future, done once everything below `offset` is on disk.

        It fails with KafkaError KAFKA_STORAGE_ERROR. The topic's flush.messages decides whether to wait; call it right
        after an append.
        """
        return self.synced_log(self.get(topic, partition), offset)

    def synced_log(self, log: PartitionLog, offset: int) -> Future[None] | None:
        """Return the same as `synced`, for a given log."""
        return self._flush.synced(log, offset) if log.flush_before_answer else None

    def synced_anyway(self, topic: str, partition: int) -> Future[None]:
        """Return a future, done once all that is in the log now is on disk, for any settings. KafkaError as `get`."""
        log = self.get(topic, partition)
        return self._flush.synced(log, log.log_end_offset)

    def delete_records_before(self, topic: str, partition: int, offset: int) -> int:
        """Move the log start offset; -1 means the high watermark. Return the new low watermark. Raises KafkaError."""
        try:
            low_watermark = self.get(topic, partition).delete_records_before(offset)
        except StorageError as error:
            raise self.storage_failed(topic, partition, "delete records of", error) from error
        self._waiters.wake(topic, partition)
        return low_watermark

    # --- called by the catalogue -------------------------------------------------------------------------------------

    def on_topic_created(self, topic: TopicImage) -> None:
        """Do nothing: its logs are made when they are first used."""

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        """Do nothing, as above."""

    def on_topic_deleted(self, topic: TopicImage) -> None:
        due_ms = self._clock.now_ms() + self._config.integer("log.segment.delete.delay.ms")
        for partition in range(len(topic.partitions)):
            self._forget(topic.name, partition)
            self.recoveries.abandon((topic.name, partition))
            self.failed.forget((topic.name, partition))
            self._refused.pop((topic.name, partition), None)
            try:
                self.directory.delete_log(topic.name, partition, self._random_bytes(16), due_ms)
            except StorageError as error:
                self.storage_failed(topic.name, partition, "delete", error)
            self._waiters.wake(topic.name, partition)

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        made: dict[tuple[tuple[str, str], ...], LogConfig] = {}  # most topics have the same settings, or none
        for log in self.open_logs(resource_name if resource_type == TOPIC_RESOURCE else None):
            own = self._catalogue.topics[log.topic].configs
            key = tuple(sorted(own.items()))
            log.config = made[key] = made.get(key) or log_config(self._config, own)
            self._waiters.wake(log.topic, log.partition)
