# compiled: mypyc
"""Finishing transactions: write a marker to every partition, then release all of them in one step.

Knows partitions and markers, not the states of transactional ids: `transaction_coordinator.py` decides what a
transaction is, and stores that it is complete afterwards. The offsets of groups are in `__consumer_offsets`, which the
group coordinator writes.

Theory of operation: `finish` writes the markers *held*: the last stable offsets stay. When the last marker is written,
and durable where syncs are configured, all partitions are released without anything in between, so a reader sees all of
the transaction or nothing. The decision itself is durable before `finish` is called, so a lost marker will be written
again. A transaction with one partition, the common case, is finished without a job, unless there is a listener; one
with few partitions inside the call; one with many in slices, so that no other work waits long for a turn of the event
loop.

The partition's error decides, as in Kafka: the partition is gone (left out), it cannot write now (parked and retried),
it has fenced the coordinator (left out and logged). A partition that is loading holds the others, since loading is
short; one whose disk fails, or whose replicas are all on stopped nodes (LEADER_NOT_AVAILABLE), does not, since that may
last for any time. If the disk is full the others are held, too: there will be room again, and until then no reader sees
half a transaction.

A listener may hold a job at a step (broker/runtime/events). The job then waits as it does for a retry, and nothing
waits for it when the clock is moved; other jobs continue, and a stop of the broker releases it.

A job is identified by its transaction (the transactional id, and the producer of its markers), not by the id alone:
when `__transaction_state` is deleted, decided transactions are finished all the same, and a new transaction of the same
id does not wait for them.

Invariants: each transaction is finished by one job at a time; `done` is called once, after every marker is durable;
after `close` nothing begins.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.transaction.decisions.model import TopicPartition
from barnabas.broker.coordinator.transaction.marker_job import STUCK, JobKey, MarkerJob, Waits, job_key
from barnabas.broker.coordinator.transaction.offset_markers import OffsetMarkers
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.events import EventKind, Events
from barnabas.broker.runtime.events.events import Facts
from barnabas.broker.runtime.events.kinds import (
    MARKER_REFUSED,
    MARKER_WRITING,
    MARKER_WRITTEN,
    TRANSACTION_MARKED,
    TRANSACTION_PREPARED,
)
from barnabas.broker.runtime.in_flight import InFlight
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.scheduler import CooperativeScheduler, Work, WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.errors import DirectoryFull

if TYPE_CHECKING:
    from barnabas.broker.partitions.partitions import Partitions

_log = logger("coordinator")

WRITING = WorkClass(under_way_max=1_000, steps_max=500, slice_ms=5, may_begin_again=False)
"""The markers of one transaction."""
_LED_AT_ONCE = 64
_SHOWN_IN_PASSING_MAX = 500  # releasing more takes milliseconds: in a turn of the event loop for itself
LOADING_RETRY_MS = 20
BROKEN_RETRY_MS = 1_000

_GONE = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
_FENCED = {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
_LOADING = {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}


class TransactionMarkerWriter:
    """The component that finishes the transactions of one broker."""

    def __init__(
        self,
        partitions: Partitions,
        offsets: Callable[[], OffsetMarkers],
        *,
        clock: Clock,
        upkeep: CooperativeScheduler,
        events: Events | None = None,
    ) -> None:
        """Create a writer without jobs. `offsets` returns the group coordinator, when it is first needed."""
        self._events = events or Events()
        self._lets_go = False
        self._partitions = partitions
        self._offsets = offsets
        self._clock = clock
        self._upkeep = upkeep
        self._jobs: dict[JobKey, MarkerJob] = {}
        self._changed: Future[None] | None = None
        self._is_closed = False
        self.under_way = InFlight(upkeep.loop, self._unsettled)
        """The jobs that can be finished now."""

    @property
    def is_settled(self) -> bool:
        """Whether everything is finished, except where a disk fails or is full, or no node leads the partition."""
        return next(self._unsettled(), None) is None

    def jobs_of(self, name: str) -> list[MarkerJob]:
        """Return the jobs that finish transactions of this id, for inspection."""
        return [job for key, job in self._jobs.items() if key[0] == name]

    def next_change(self) -> Future[None]:
        """Return a future that is done when the next job finishes or has to wait. For one caller at a time."""
        self._changed = self._upkeep.loop.create_future()
        return self._changed

    def finish(
        self,
        name: str,
        marker: EndTxnMarker,
        partitions: Collection[TopicPartition],
        *,
        transaction_version: int,
        done: Callable[[], bool],
    ) -> None:
        """Write `marker` everywhere, release it, and call `done`: inside this call if there is nothing to wait for.

        `name` is the transactional id; a transaction that is being finished is not begun again. `done` returns False if
        it could not store the completion; it is called again later.
        """
        key = job_key(name, marker)
        if self._is_closed or key in self._jobs:
            return
        has_events = self._events.is_on
        is_one = len(partitions) == 1 and not has_events
        if is_one and self._finish_one(name, marker, partitions, transaction_version, done):
            return
        job = self._jobs[key] = MarkerJob(name, marker, transaction_version, partitions, done)
        job.cause = self._events.cause
        job.is_holding |= has_events  # so that a step means the same for one partition as for many
        if not (has_events and self._is_held(job, TRANSACTION_PREPARED)):
            self._go_on(job)

    def write_marker(
        self,
        topic: str,
        partition: int,
        marker: EndTxnMarker,
        *,
        transaction_version: int,
        hold: bool = False,
    ) -> Future[None] | None:
        """Write one marker. Return a future that is done once it is durable; None if no wait is needed. KafkaError."""
        if topic == CONSUMER_OFFSETS_TOPIC:
            offsets = self._offsets()
            return offsets.append_marker(partition, marker, transaction_version=transaction_version, hold=hold).synced
        partitions = self._partitions
        log = partitions.get_led(topic, partition)
        result = partitions.append_marker_to(log, marker, transaction_version=transaction_version, hold=hold)
        return partitions.synced_log(log, result[1] + 1)

    def let_all_go(self) -> None:
        """Release the jobs that listeners hold, and hold none from now on: the broker is about to stop."""
        self._lets_go = True
        for job in list(self._jobs.values()):
            self._release(job)

    def close(self) -> None:
        """Drop all jobs: the broker stops. Unfinished transactions are found prepared at the next start."""
        self._is_closed = True
        self._jobs.clear()
        self.under_way.every_one_ended()
        self._notify_change()

    def _finish_one(
        self,
        name: str,
        marker: EndTxnMarker,
        partitions: Collection[TopicPartition],
        transaction_version: int,
        done: Callable[[], bool],
    ) -> bool:
        """Finish a transaction over one partition without a job; False if the marker was refused: use a job."""
        ((topic, partition),) = partitions
        try:
            synced = self.write_marker(topic, partition, marker, transaction_version=transaction_version)
        except Exception:
            return False  # `_mark` gets it again, and decides there what to do or to log
        if synced is None and done():
            return True
        job = self._jobs[job_key(name, marker)] = MarkerJob(name, marker, transaction_version, (), done)
        if synced is None:
            self._complete_later(job)
        else:
            job.syncs.append(synced)
            self._complete_when_synced(job)
        return True

    # One job

    def _go_on(self, job: MarkerJob) -> None:
        job.waits = Waits.NOT
        if len(job.todo) > 1 or len(job.held) > _SHOWN_IN_PASSING_MAX:
            self._upkeep.in_slices(lambda: self._write_all(job), WRITING)
        elif not job.todo or self._write_next(job):
            self._all_written(job)

    def _write_all(self, job: MarkerJob) -> Work[None]:
        """Write one marker in each step; do the rest together with the last one."""
        for count in range(len(job.todo)):
            if count:
                yield None
            if self._jobs.get(job.key) is not job:
                return  # closed in the meantime
            if count % _LED_AT_ONCE == 0 and len(job.todo) > 1:
                self._partitions.lead(job.todo[-_LED_AT_ONCE:])
            if not self._write_next(job):
                return
        if not job.parked and len(job.held) > _SHOWN_IN_PASSING_MAX:
            yield self._upkeep.next_turn()
        self._all_written(job)

    def _write_next(self, job: MarkerJob) -> bool:
        """Write one marker, if it is accepted; return False if a listener holds the job there."""
        has_events = self._events.is_on
        if has_events and self._is_held(job, MARKER_WRITING, job.todo[-1]):
            return False
        where = job.todo.pop()
        return not (self._mark(job, where) and has_events and self._is_held(job, MARKER_WRITTEN, where))

    def _all_written(self, job: MarkerJob) -> None:
        """Complete the job, or wait for a retry: only refused markers are left to write."""
        if self._jobs.get(job.key) is not job:
            return  # closed in the meantime
        if job.parked:
            self._wait_for_better_times(job)
            return
        self._complete_when_synced(job)

    def _mark(self, job: MarkerJob, where: TopicPartition) -> bool:
        """Write one marker; return whether it is written."""
        topic, partition = where
        try:
            synced = self.write_marker(
                topic, partition, job.marker, transaction_version=job.version, hold=job.is_holding
            )
        except KafkaError as refusal:
            self._refused(job, where, refusal)
            return False
        except Exception as mistake:
            # Our own bug, logged once with its traceback; the other partitions and a clean stop do not wait for it.
            if where not in job.parked:
                _log.exception(line("marker failed", transactional_id=job.name, topic=topic, partition=partition))
            self._refused(job, where, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, repr(mistake)))
            return False
        if job.parked and job.parked.pop(where, None) is not None:
            _log.info(line("marker written after retries", transactional_id=job.name, topic=topic, partition=partition))
        if job.is_holding:
            job.held.append(where)
        if synced is not None:
            job.syncs.append(synced)
        return True

    def _refused(self, job: MarkerJob, where: TopicPartition, refusal: KafkaError) -> None:
        code = refusal.code
        if self._events.is_on and where not in job.parked:
            why = {"error": code.name, "is_tried_again": code not in _GONE and code not in _FENCED}
            self._report(job, MARKER_REFUSED, {**job.facts(where), **why})
        facts = {"transactional_id": job.name, "topic": where[0], "partition": where[1], "reason": refusal}
        if code in _GONE:
            job.parked.pop(where, None)
            _log.info(line("marker skipped", **facts))
        elif code in _FENCED:
            job.parked.pop(where, None)
            _log.error(line("marker fenced", **facts))
        else:
            if where not in job.parked:
                log = _log.debug if code in _LOADING else _log.error  # loading is not an error
                log(line("marker refused, retried until it is accepted", **facts))
            job.parked[where] = code
            job.without_room.discard(where)
            if isinstance(refusal.__cause__, DirectoryFull):
                job.without_room.add(where)

    def _wait_for_better_times(self, job: MarkerJob) -> None:
        job.todo = list(job.parked)
        if all(code in _LOADING for code in job.parked.values()):
            self._park(job, Waits.LOADING)
            self._clock.call_later(LOADING_RETRY_MS, partial(self._go_on, job))
        elif job.waits_for_room(_LOADING):
            self._park(job, Waits.ROOM)
            self._clock.call_later(BROKEN_RETRY_MS, partial(self._go_on, job))
        else:
            self._show(job)
            job.is_holding = False
            self._park(job, Waits.BROKEN)
            self._clock.call_later(BROKEN_RETRY_MS, partial(self._go_on, job))

    def _show_if_held(self, job: MarkerJob) -> None:
        if job.held and self._jobs.get(job.key) is job:
            self._show(job)

    def _show(self, job: MarkerJob) -> None:
        """Release every held partition; nothing else happens in between. If a marker is not synced yet, its
        partition shows the transaction once it is.
        """
        held, job.held = job.held, []
        producer_id, is_commit = job.marker.producer_id, job.marker.commit
        for topic, partition in held:
            if topic == CONSUMER_OFFSETS_TOPIC:
                self._offsets().release_marker(partition, producer_id, is_commit)
            else:
                self._partitions.release_marker(topic, partition, producer_id)

    def _complete_when_synced(self, job: MarkerJob) -> None:
        while job.syncs:
            synced = job.syncs[-1]
            if not synced.done():
                synced.add_done_callback(lambda _: self._complete_when_synced(job))
                return
            job.syncs.pop()
            if synced.cancelled() or synced.exception() is not None:
                # The transaction stays prepared: the search for prepared ones finishes it, or, offline, the next start.
                for other in job.syncs:
                    other.cancel()
                self._show_if_held(job)  # on other partitions it can be read
                self._forget(job)
                _log.error(line("markers not synced", transactional_id=job.name, reason=_why(synced)))
                return
        self._show_if_held(job)
        self._complete(job)

    def _complete(self, job: MarkerJob) -> None:
        if self._jobs.get(job.key) is not job:
            return
        if self._events.is_on and self._is_held(job, TRANSACTION_MARKED):
            return
        before, self._events.cause = self._events.cause, job.cause
        try:
            is_done = job.done()
        finally:
            self._events.cause = before
        if is_done:
            self._forget(job)
        else:
            self._complete_later(job)

    def _complete_later(self, job: MarkerJob) -> None:
        self._park(job, Waits.BROKEN)
        self._clock.call_later(BROKEN_RETRY_MS, partial(self._complete, job))

    # Steps, for listeners

    def _is_held(self, job: MarkerJob, kind: EventKind, where: TopicPartition | None = None) -> bool:
        """Notify the listeners of a step, once; return whether one holds the job. The job then continues by itself."""
        if not job.comes_to(kind.name, where):
            return False
        facts = job.facts(where)
        if where is None:
            facts.update(job.partitions())
        held = self._report(job, kind, facts)
        if held is None or self._lets_go:
            return False
        self._park(job, Waits.HELD)
        held.add_done_callback(partial(self._release, job))
        return True

    def _report(self, job: MarkerJob, kind: EventKind, facts: Facts) -> Future[None] | None:
        """Notify the listeners, with the cause of the decision as the cause, no matter how late."""
        before, self._events.cause = self._events.cause, job.cause
        try:
            return self._events.emit(kind, facts)
        finally:
            self._events.cause = before

    def _release(self, job: MarkerJob, _: Future[None] | None = None) -> None:
        if job.waits is Waits.HELD and self._jobs.get(job.key) is job:
            self._go_on(job)

    # What a job waits for

    def _park(self, job: MarkerJob, waits: Waits) -> None:
        job.waits = waits
        if waits in STUCK:
            self.under_way.ended(job.key)
        self._notify_change()

    def _forget(self, job: MarkerJob) -> None:
        self._jobs.pop(job.key, None)
        self.under_way.ended(job.key)
        self._notify_change()

    def _unsettled(self) -> Iterator[JobKey]:
        return (key for key, job in self._jobs.items() if job.waits not in STUCK)

    def _notify_change(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)


def _why(synced: Future[None]) -> object:
    return "cancelled" if synced.cancelled() else synced.exception()
