# compiled: mypyc
"""A Fetch that may wait: read at once, parked in the purgatory until min_bytes are there or its time is over.

As Apache Kafka's DelayedFetch: `_is_ready` is its tryComplete, `_finish` its onComplete. The purgatory
(broker/partitions/purgatory.py) wakes it when a partition changes; then only the partitions that changed are read
again. The handler (broker/api/handlers/fetch.py) begins the fetch session.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from barnabas.broker.api.produce_fetch.fetch_refusals import report_errors
from barnabas.broker.metadata.cluster.leader_epoch_check import NOT_CHECKED, check_leader_epoch
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.broker.partitions.fetch.fetch_sessions import UNKNOWN_PARTITION, FetchContext
from barnabas.broker.partitions.opening.recoveries import OpensLater, StillRecovering
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.protocol.hot.fetch import FetchAnswer, FetchedPartition, FetchPartition, FetchRequest
from barnabas.protocol.primitives import uuid_text
from barnabas.storage.errors import CorruptFile, StorageError
from barnabas.storage.steps import Pauses, mapped

if TYPE_CHECKING:
    from collections.abc import Collection, Sized

    from barnabas.broker.partitions.purgatory import DelayedOperation, PartitionKey, Woken
    from barnabas.protocol.hot.writing import Topic
    from barnabas.storage.log.log import PartitionLog
    from barnabas.storage.steps import Steps

_STORAGE_ERROR_SINCE: Final = 6
_ANY_REPLICA_SINCE: Final = 11
_READ_COMMITTED: Final = 1
_READ: Final = Operation.READ
_TOPIC: Final = Resource.TOPIC
_NO_EPOCH: Final = -1
_NOTHING_MORE: Final = (None, None, -1)  # no diverging epoch, no other leader, no preferred replica
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


class DelayedFetch:
    """One Fetch until it is answered.

    The results that it waited with may be used in the answer: a partition without changes since is not read again.
    """

    __slots__ = (
        "_any_replica",
        "_api_version",
        "_bytes_left",
        "_came",
        "_catalogue",
        "_cluster",
        "_committed",
        "_context",
        "_had",
        "_is_read",
        "_max_bytes",
        "_max_wait_ms",
        "_partitions",
        "_rack",
        "_results",
        "_rights",
        "_session",
        "_waiters",
        "_waits_for",
        "_wanted",
        "has_errors",
        "min_bytes",
        "must_answer",
        "opens_later",
        "size",
        "unknown_count",
    )

    def __init__(self, request: FetchRequest, session: FetchContext, context: RequestContext) -> None:
        services = context.services
        self._context = context
        cluster = self._cluster = services.cluster
        self._any_replica = cluster.has_others and context.api_version >= _ANY_REPLICA_SINCE
        self._rack = request.rack_id if cluster.reads_by_rack else ""
        self._rights = context.rights
        self._catalogue = services.catalogue
        self._partitions = services.partitions
        self._session = session
        self._wanted = session.wanted
        self._results: list[FetchedPartition] = []
        self._is_read = False
        self._committed = request.isolation_level == _READ_COMMITTED
        self._api_version = context.api_version
        self._max_bytes = min(max(0, request.max_bytes), services.config.integer("fetch.max.bytes"))
        self.min_bytes = min(request.min_bytes, self._max_bytes)
        self._max_wait_ms = request.max_wait_ms
        self._waiters = services.purgatory
        self.size = 0
        """Bytes of records in the last read."""
        self._bytes_left = self._max_bytes
        self._waits_for: dict[PartitionKey, int] = {}
        self._came = 0  # bytes of records since the last read, in partitions that were woken
        self._had: dict[int, int] = {}  # bytes at their last wake-up, by their positions in `_wanted`
        self.must_answer = False
        """Whether the last read found something that is answered at once: an error, or logs that diverge."""
        self.has_errors = False
        """Whether some partition is answered with an error, unless it was read again since."""
        self.opens_later = False
        """Whether the last read left partitions unopened for lack of time in its turn: `open_all` must be called."""
        self.unknown_count = 0
        """The number of partitions that the last read did not find. They are answered with the rest."""

    def answer(self, results: list[FetchedPartition]) -> FetchAnswer | DelayedOperation[FetchAnswer]:
        """Answer with these results, or wait until there is more."""
        if self._max_wait_ms <= 0 or self.must_answer or self.size >= self.min_bytes:
            return self._answer(results, self.unknown_count)
        if self.unknown_count == len(results):  # there is nothing to wait for
            return self._answer(results, 0)
        return self._waiters.park(
            self._keys(results), timeout_ms=self._max_wait_ms, is_ready=self._is_ready, finish=self._finish
        )

    def _keys(self, results: list[FetchedPartition]) -> dict[PartitionKey, int]:
        """Return the partitions to wait for, which are those that `results` found, with their positions among all."""
        self._results = results
        name = self._name
        self._waits_for = {
            (topic if type(topic) is str else name(topic), entry[0]): position
            for position, (topic, entry) in enumerate(self._wanted)
            if not self.unknown_count or results[position].error_code not in UNKNOWN_PARTITION
        }
        return self._waits_for

    def read(self) -> list[FetchedPartition]:
        """Read the available data, in the order of the request."""
        self._begin()
        read = self._read_partition
        return [read(topic, entry) for topic, entry in self._wanted]

    def park(self) -> DelayedOperation[Woken] | None:
        """Wait for changes of any partition from now on, read or not; return None if the request does not wait."""
        if self._max_wait_ms <= 0:
            return None
        name = self._known_name
        keys = self._waits_for = {(name(topic), entry[0]): place for place, (topic, entry) in enumerate(self._wanted)}
        is_ready, timeout_ms = self._is_ready_once_read, self._max_wait_ms
        return self._waiters.park(keys, timeout_ms=timeout_ms, is_ready=is_ready, finish=lambda woken: woken)

    def read_in_steps(self, woken: Woken = None) -> Steps[list[FetchedPartition]]:
        """Read as `read` does; only the woken partitions, if that is enough."""
        if woken is not None and self._results and not self._reads_all():
            positions = sorted(self._waits_for[key] for key in woken)
            self._begin()
            pauses = Pauses()
            for position in positions:
                self._results[position] = self._read_partition(*self._wanted[position])
                if pauses.is_due():
                    yield
            return self._results
        self._begin()
        self._results = yield from mapped(lambda wanted: self._read_partition(*wanted), self._wanted)
        return self._results

    def answer_now(self, results: list[FetchedPartition], *, is_due: bool) -> Steps[FetchAnswer | None]:
        """Return the answer with these results, if it is due, or large enough, or there is nothing to wait for."""
        is_due = is_due or self.must_answer or self.size >= self.min_bytes
        if not is_due and self.unknown_count != len(results):
            return None
        self._report(results)
        return (yield from self._session.answered_in_steps(results, self.unknown_count if is_due else 0))

    def are_ready(self, woken: Collection[PartitionKey]) -> bool:
        """Return whether min_bytes were reached while the partitions were read; check later wake-ups at once."""
        self._is_read = True
        try:
            return any(map(self._is_ready, woken))
        except Exception:
            return True  # the read runs into the same error

    def open_all(self) -> Steps[None]:
        """Open the logs that are not open: the next read finds all of them open, or returns their errors.

        It gets a slice in each turn of the loop, whatever else runs: it never waits for other work to end.
        """
        for topic, entry in self._wanted:
            yield
            with suppress(KafkaError):  # the read runs into the same error
                name = topic if type(topic) is str else self._name(topic)
                self._partitions.get_to_read(name, entry.partition, self._any_replica, False)

    def _finish(self, woken: Woken) -> FetchAnswer:
        """Return the answer after the wait; only the `woken` partitions are read again, if these are known."""
        if woken is None or self._reads_all():
            results = self.read()
        else:
            results = self._results
            self._begin()
            positions = [self._waits_for[key] for key in woken]
            for position in sorted(positions) if len(positions) > 1 else positions:
                results[position] = self._read_partition(*self._wanted[position])
        return self._answer(results, self.unknown_count)

    def _reads_all(self) -> bool:
        """Return whether all must be read again: the stored results are not all empty, known and free of errors."""
        return bool(self.size or self.must_answer or self.unknown_count) or len(self._waits_for) != len(self._wanted)

    def _answer(self, results: list[FetchedPartition], unknown_count: int) -> FetchAnswer:
        self._report(results)
        return self._session.answered(results, unknown_count)

    def _report(self, results: list[FetchedPartition]) -> None:
        """Emit events of the partitions that are answered with an error."""
        if self.has_errors and self._rights is not None:
            self._rights.report_more(_READ, _TOPIC)
        if self.has_errors and self._context.services.events.is_on:
            name = self._known_name
            wanted = zip(self._wanted, results, strict=True)
            report_errors(
                self._context,
                [(name(topic), entry, result.error_code) for (topic, entry), result in wanted if result.error_code],
            )

    def _known_name(self, topic: Topic) -> str:
        """Return the topic's name, or the id as text if there is no such topic."""
        if isinstance(topic, str):
            return topic
        found = self._catalogue.topics_by_id.get(topic)
        return uuid_text(topic) if found is None else found.name

    def _begin(self) -> None:
        self.size = 0
        self._came = 0
        self._had.clear()
        self._bytes_left = self._max_bytes
        self.must_answer = False
        self.opens_later = False
        self.unknown_count = 0

    def _is_ready_once_read(self, woken: PartitionKey) -> bool:
        return self._is_read and self._is_ready(woken)

    def _is_ready(self, woken: PartitionKey) -> bool:
        """Return whether min_bytes are reached after a change of a partition; raises the errors of a read.

        Only that partition is checked: the others have what they had when they were read, or last woken.
        """
        position = self._waits_for[woken]
        entry = self._wanted[position][1]
        try:
            log = self._partitions.get_to_read(*woken, self._any_replica, False)
        except StillRecovering:
            return False
        check_leader_epoch(log, entry.current_leader_epoch)
        if entry.fetch_offset < log.log_start_offset:
            return True
        had = self._had.get(position)
        has = min(log.readable_bytes(entry.fetch_offset, self._committed), entry.partition_max_bytes)
        self._came += has - (len(self._results[position].records) if had is None else had)
        self._had[position] = has
        return self.size + self._came >= self.min_bytes

    def _name(self, topic: str | bytes) -> str:
        if isinstance(topic, str):
            return topic
        found = self._catalogue.topics_by_id.get(topic)
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        return found.name

    def _read_partition(self, topic: Topic, entry: FetchPartition) -> FetchedPartition:
        partition, leader_epoch, offset, last_epoch, _, limit = entry
        try:
            name = topic if type(topic) is str else self._name(topic)
            if self._rights is not None and not self._rights.allows(_READ, _TOPIC, name):
                return self._failed(entry, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            log = self._partitions.get_to_read(name, partition, self._any_replica, True)
            if leader_epoch != NOT_CHECKED:
                check_leader_epoch(log, leader_epoch)
            if self._rack:
                replica = self._read_replica(log, offset)
                if replica != NO_LEADER:
                    self.must_answer = True
                    offsets = log.high_watermark, log.last_stable_offset, log.log_start_offset
                    return FetchedPartition(partition, 0, *offsets, preferred_read_replica=replica)
            if last_epoch != _NO_EPOCH:
                diverging = _diverging_epoch(log, entry)
                if diverging is not None:
                    self.must_answer = True
                    return FetchedPartition(
                        partition,
                        0,
                        log.high_watermark,
                        log.last_stable_offset,
                        log.log_start_offset,
                        diverging_epoch=diverging,
                    )
            if limit > self._bytes_left:
                limit = self._bytes_left
            data, high_watermark, last_stable_offset, log_start_offset, aborted = log.read(
                offset, limit, committed=self._committed, force_first_batch=self.size == 0
            )
        except OpensLater as later:
            self.opens_later = True
            return FetchedPartition(entry.partition, later.code)
        except StillRecovering as recovering:  # like a partition without data: the client must not retry at once
            self.has_errors = True
            return FetchedPartition(entry.partition, recovering.code)
        except KafkaError as error:
            return self._failed(entry, error.code)
        except (CorruptFile, DecodeError):
            return self._failed(entry, ErrorCode.CORRUPT_MESSAGE)
        except StorageError:
            is_known = self._api_version >= _STORAGE_ERROR_SINCE
            return self._failed(entry, ErrorCode.KAFKA_STORAGE_ERROR if is_known else ErrorCode.NOT_LEADER_OR_FOLLOWER)
        records: Sized = b""
        if data is not None:
            records = data
            self.size += data.size
            self._bytes_left = max(0, self._max_bytes - self.size)
        offsets = high_watermark, last_stable_offset, log_start_offset
        return _new_tuple(FetchedPartition, (partition, 0, *offsets, aborted, records, *_NOTHING_MORE))

    def _read_replica(self, log: PartitionLog, offset: int) -> int:
        """Return the other node that the consumer should read from, or NO_LEADER, also for an invalid offset."""
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return NO_LEADER
        return self._cluster.read_replica(log.topic, log.partition, self._rack)

    def _failed(self, entry: FetchPartition, code: ErrorCode) -> FetchedPartition:
        self.has_errors = True
        if code in UNKNOWN_PARTITION:
            self.unknown_count += 1
        else:
            self.must_answer = True
        return FetchedPartition(entry.partition, code)


def _diverging_epoch(log: PartitionLog, entry: FetchPartition) -> tuple[int, int] | None:
    """Return where the reader's log and this one diverge, or None. Raise KafkaError if its epoch is unknown."""
    epoch, end_offset = log.end_offset_for_epoch(entry.last_fetched_epoch)
    if epoch == _NO_EPOCH or end_offset == -1:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"leader epoch {entry.last_fetched_epoch} is unknown")
    if epoch < entry.last_fetched_epoch or end_offset < entry.fetch_offset:
        return epoch, end_offset
    return None
