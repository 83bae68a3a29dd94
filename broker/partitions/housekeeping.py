"""Periodic tasks of a broker: retention, background flushes, checkpoints, expiry of producer ids, removals.

Decides when they run; logs and the log directory do the work. The intervals are Kafka's configuration keys. Tasks on
records use the clock that clients see; flushes and checkpoints, which save work and records from a crash of this
machine, use the machine's clock. Disk work that can take long runs in threads; the rest is short and spread out, one
partition after another.

A retention pass also covers partitions that were not used in this run: each is opened for it in turn, with a pause
between two, and closed again, since records must be deleted when their time has come, whether they are read or not.
After a kill it waits for those that are not recovered yet (recovery_pass.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from barnabas.broker.partitions.file_removals import FileRemovals
from barnabas.broker.partitions.flush.disk_work import storage_failure
from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.broker.runtime.events.bounded_facts import some
from barnabas.broker.runtime.events.kinds import PRODUCER_IDS_EXPIRED, SEGMENT_DELETED
from barnabas.broker.runtime.in_flight import InFlight
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.protocol.errors import KafkaError
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.partitions.flush.group_flush import GroupFlush
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.purgatory import Purgatory
    from barnabas.broker.runtime.clock import Clock, Timer
    from barnabas.broker.runtime.events import Events
    from barnabas.broker.runtime.scheduler import CooperativeScheduler
    from barnabas.storage.log.log import PartitionLog

_log = logger("storage")
_FIRST_RETENTION_MS = 30_000
_BETWEEN_PARTITIONS_MS = 5
_FLUSH_CHECK_MS = 1_000
_REMOVAL_CHECK_MS = 10_000
_RETENTION, _REMOVAL = "retention", "removal"
SEGMENTS_IN_A_TURN = 25
"""The number of segments of a partition that are deleted in one turn: each has several files to rename."""
_SETTLING = WorkClass(under_way_max=1)
"""Reading the age of segments: a separate class, so that it does not queue behind clients' look-ups by timestamp."""


class Housekeeping:
    """The timers of one broker."""

    def __init__(
        self,
        partitions: Partitions,
        config: BrokerConfig,
        clock: Clock,
        machine_clock: Clock,
        loop: AbstractEventLoop,
        waiters: Purgatory,
        slices: CooperativeScheduler,
        flush: GroupFlush,
        run_in_thread: Callable[[Callable[[], Any]], Future[Any]],
        events: Events,
    ) -> None:
        self._partitions = partitions
        self._directory = partitions.directory
        self._config = config
        self._clock = clock
        self._machine_clock = machine_clock
        self._loop = loop
        self._waiters = waiters
        self._slices = slices
        self._flush = flush
        self._run_in_thread = run_in_thread
        self._events = events
        self._timers: dict[str, Timer] = {}
        self._settling: Future[None] | None = None
        self._is_stopped = False
        self._is_retaining = False
        self.removals = FileRemovals(partitions.directory, clock, loop, lambda: self.under_way.ended(_REMOVAL))
        self.under_way = InFlight(loop, self._names_under_way)
        """A retention pass, and removals that are due."""
        self._is_checkpointing = False
        self._in_thread = 0

    @property
    def is_in_thread(self) -> bool:
        """Whether a thread writes checkpoints, or syncs renames of deleted segments."""
        return self._in_thread > 0

    def start(self) -> None:
        """Start the timers; nothing runs yet."""
        clock, machine_clock = self._clock, self._machine_clock
        self._repeat(machine_clock, "flush", self.flush_due, lambda: _FLUSH_CHECK_MS)
        self._repeat(machine_clock, "checkpoint", self._checkpoint, self._checkpoint_interval_ms)
        expiry_interval_ms = self._config.integer("producer.id.expiration.check.interval.ms")
        self._repeat(clock, "producers", self._expire_producers, lambda: expiry_interval_ms)
        self._repeat(clock, "removal", self.remove_due, lambda: _REMOVAL_CHECK_MS)
        if not self._is_retaining:
            self._later(clock, "retention", _FIRST_RETENTION_MS, self._begin_retention)

    def stop(self) -> None:
        """Cancel all timers."""
        self._is_stopped = True
        if self._settling is not None:
            self._settling.cancel()
        for timer in self._timers.values():
            timer.cancel()
        self._is_retaining = False
        self.removals.stop()
        self.under_way.every_one_ended()

    def _names_under_way(self) -> list[str]:
        return [_RETENTION] * self._is_retaining + [_REMOVAL] * self.removals.are_under_way

    def _later(self, clock: Clock, name: str, delay_ms: float, action: Callable[[], None]) -> None:
        if not self._is_stopped:
            self._timers[name] = clock.call_later(delay_ms, action)

    def _repeat(self, clock: Clock, name: str, action: Callable[[], None], interval_ms: Callable[[], int]) -> None:
        def run() -> None:
            try:
                action()
            finally:
                self._repeat(clock, name, action, interval_ms)

        self._later(clock, name, clock.until_next(interval_ms()), run)

    # --- retention -------------------------------------------------------------------------------------------------

    def retain_now(self) -> None:
        """Begin the next pass now, unless one is in progress."""
        if not self._is_retaining and not self._is_stopped:
            if (timer := self._timers.get("retention")) is not None:
                timer.cancel()
            self._begin_retention()

    def retain_one(self, topic: str, partition: int) -> None:
        """Apply retention to one partition that is in use, as far as the ages of its segments are known."""

        def over(is_more: bool) -> None:
            if is_more:
                self._loop.call_soon(self.retain_one, topic, partition)

        self._retain(topic, partition, True, None, over)

    def _begin_retention(self) -> None:
        """Begin a pass over every partition that has a directory."""
        self._is_retaining = True
        left = sorted(self._directory.partitions, reverse=True)
        self._go_on_with_retention(left)

    def _go_on_with_retention(self, left: list[tuple[str, int]], *, was_recovered: bool = False) -> None:
        """Continue the pass. `was_recovered`: the next partition was opened for this pass, which waited for it."""
        if self._is_stopped:
            return
        if not left:
            self._is_retaining = False
            self.under_way.ended(_RETENTION)
            interval_ms = self._clock.until_next(self._config.integer("log.retention.check.interval.ms"))
            self._later(self._clock, "retention", interval_ms, self._begin_retention)
            return
        topic, partition = left.pop()
        was_used = not was_recovered and self._partitions.is_used(topic, partition)
        has_paused = False  # for a sync

        def retain(settling: Future[None] | None = None) -> None:
            nonlocal has_paused
            self._settling = None
            try:
                self._retain(topic, partition, was_used, settling, over)
                has_paused = True
            except StillRecovering as recovering:
                left.append((topic, partition))
                recovering.when_over(lambda: self._go_on_with_retention(left, was_recovered=not was_used))
            except BaseException:
                self._retain_next(left)
                raise

        def over(is_more: bool) -> None:
            if is_more:
                left.append((topic, partition))
            self._retain_next(left, was_recovered=is_more and not was_used, has_paused=has_paused)

        try:
            self._settling = self._settle_ages(topic, partition)
        except BaseException:
            self._retain_next(left)
            raise
        if self._settling is None:
            retain()
        else:
            self._settling.add_done_callback(retain)

    def _retain_next(
        self, left: list[tuple[str, int]], *, was_recovered: bool = False, has_paused: bool = False
    ) -> None:
        """Schedule the next partition of the pass, even if the clock does not move."""
        go_on = partial(self._go_on_with_retention, left, was_recovered=was_recovered)
        if self._clock.is_moving or has_paused:
            self._loop.call_soon(go_on)
        else:
            self._later(self._machine_clock, "retention", _BETWEEN_PARTITIONS_MS, go_on)

    def _settle_ages(self, topic: str, partition: int) -> Future[None] | None:
        """Read the ages of the segments. Return a future, done when they are known, or None if they are already."""
        if not self._partitions.is_here(topic, partition):
            return None
        try:
            log, now_ms = self._log_of(topic, partition), self._clock.now_ms()
            return self._slices.in_slices(lambda: log.settle_ages(now_ms), _SETTLING)
        except (KafkaError, StorageError):
            return None  # retention runs into the same error, and logs it or waits for the recovery

    def _log_of(self, topic: str, partition: int) -> PartitionLog:
        if self._partitions.is_open(topic, partition):
            return self._partitions.get(topic, partition)
        return self._partitions.open_log(topic, partition, in_background=True)

    def _retain(
        self,
        topic: str,
        partition: int,
        was_used: bool,
        settled: Future[None] | None,
        over: Callable[[bool], None],
    ) -> None:
        """Apply retention to one partition. over: called once it is durable, with whether more may be deleted."""
        # Read first: the topic may be gone, and asyncio logs an exception that is never retrieved.
        failure = None if settled is None or settled.cancelled() else settled.exception()
        if self._is_stopped or not self._partitions.is_here(topic, partition):
            over(False)
            return
        try:
            if failure is not None:
                raise failure
            log = self._log_of(topic, partition)
            reasons = log.apply_retention(self._clock.now_ms(), SEGMENTS_IN_A_TURN)
            job = log.retention_job()
        except StillRecovering:
            raise
        except (KafkaError, StorageError) as error:
            _log.error(line("retention failed", topic=topic, partition=partition, reason=error))
            over(False)
            return
        self._report_deleted(topic, partition, reasons)
        is_more = len(reasons) == SEGMENTS_IN_A_TURN or log.retention_awaits_flush

        def synced(_: object = None) -> None:
            if not self._is_stopped and not was_used and not is_more:
                self._partitions.close(topic, partition)
            over(is_more)

        def names_synced(done: Future[StorageError | None]) -> None:
            assert job is not None
            if (error := done.result()) is None:
                job.finish()
            else:
                _log.error(line("retention failed", topic=topic, partition=partition, reason=error))
                job.failed(error)
            synced()

        def flushed(done: Future[None]) -> None:
            if done.cancelled() or done.exception() is not None:  # the flush has logged it
                over(False)
            else:
                synced()

        if log.retention_awaits_flush:
            self._flush.synced(log, log.log_end_offset).add_done_callback(flushed)
        elif job is not None:
            self._run(job.run).add_done_callback(names_synced)
        else:
            synced()

    def _report_deleted(self, topic: str, partition: int, reasons: list[str]) -> None:
        for reason in reasons:
            _log.info(line("segment deleted", topic=topic, partition=partition, reason=reason))
            if self._events.is_on:
                self._events.emit(SEGMENT_DELETED, {"topic": topic, "partition": partition, "reason": str(reason)})
        if reasons:
            self._waiters.wake(topic, partition)

    def remove_due(self) -> None:
        """Remove from the disk the files that are due."""
        self.removals.begin()

    # --- flushes and checkpoints -----------------------------------------------------------------------------------

    def flush_due(self) -> None:
        """Request a background sync of the logs that are due for one."""
        now_ms = self._machine_clock.now_ms()
        for log in self._partitions.open_logs():
            if log.flush_due(now_ms):
                self._flush.request(log)

    def _checkpoint_interval_ms(self) -> int:
        return min(
            self._config.integer("replica.high.watermark.checkpoint.interval.ms"),
            self._config.integer("log.flush.offset.checkpoint.interval.ms") or 1,
            self._config.integer("log.flush.start.offset.checkpoint.interval.ms") or 1,
        )

    def _checkpoint(self) -> None:
        """Write the three checkpoint files if they are out of date."""
        if self._is_checkpointing:
            return
        try:
            job = self._directory.begin_checkpoint()
        except StorageError as error:
            _log.error(line("checkpoint failed", reason=error))
            return
        if job is None:
            return
        self._is_checkpointing = True

        def ended(done: Future[StorageError | None]) -> None:
            self._is_checkpointing = False
            error = done.result()
            if error is not None:
                _log.error(line("checkpoint failed", reason=error))
            self._directory.end_checkpoint(job)

        self._run(job.run).add_done_callback(ended)

    def _run(self, run: Callable[[], None]) -> Future[StorageError | None]:
        def over(_: Future[StorageError | None]) -> None:
            self._in_thread -= 1

        self._in_thread += 1
        running = self._run_in_thread(lambda: storage_failure(run))
        running.add_done_callback(over)
        return running

    # --- producers -------------------------------------------------------------------------------------------------

    def _expire_producers(self) -> None:
        now_ms = self._clock.now_ms()
        expiration_ms = self._config.integer("producer.id.expiration.ms")
        for log in self._partitions.open_logs():
            self._expire_producers_of(log, now_ms, expiration_ms)

    def _expire_producers_of(self, log: PartitionLog, now_ms: int, expiration_ms: int) -> None:
        expired = log.remove_expired_producers(now_ms, expiration_ms)
        if not expired:
            return
        _log.debug(line("producers expired", topic=log.topic, partition=log.partition, count=len(expired)))
        if self._events.is_on:
            facts = {"topic": log.topic, "partition": log.partition, "producers_count": len(expired)}
            self._events.emit(PRODUCER_IDS_EXPIRED, {**facts, "producer_ids": some(map(str, expired))})
