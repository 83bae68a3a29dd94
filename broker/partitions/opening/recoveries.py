"""Partitions that take long to open: they are recovered in processes, or in slices of the event loop.

Knows openings (storage/recovery/opening.py) by their partition; the owner of a log handles the result and the waiting
requests. docs/decisions/0119 gives the reasons.

Theory of operation: the first slice runs at once, so that nearly every partition is open for the same request that
needs it. Where one slice is not enough, and processes are allowed, the opening is closed again, and a process recovers
the partition (recovery_queue.py); the event loop does not touch it meanwhile, and opens it at its next use, as after a
clean stop. Where there are no processes, the rest is done in slices (broker/runtime/scheduler.py), one step in each,
few partitions at a time, since each holds a piece of its log in memory; its syncs run in a thread. After a kill many
partitions may be requested in one turn: those that find its time used up wait, too. So do those that a Fetch names
after a clean stop (Partitions.get_to_read) or a Produce (handlers/produce.py).

Invariants: an opening is closed, and a process killed, when a recovery is abandoned; after `close` nothing is begun
that does not end in its first slice.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.partitions.flush.disk_work import storage_failure
from barnabas.broker.partitions.opening.recovery_queue import RecoveryQueue
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.scheduler import CooperativeScheduler, Work, WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.partitions.opening.partition_opening import PartitionOpening
    from barnabas.broker.partitions.purgatory import PartitionKey
    from barnabas.broker.runtime.workers.workers import Workers
    from barnabas.storage.disk.sync_job import SyncJob
    from barnabas.storage.log.log import PartitionLog
    from barnabas.storage.recovery.opening import Opening

_log = logger("storage")

BEGUN_MAX = 8
TURN_MS = 5
"""The time per turn of the loop for openings that can wait for another turn, in ms; the last one may exceed it."""
_OPENING = WorkClass(under_way_max=1_000, steps_max=1, slice_ms=0.5, may_begin_again=False)
_BESIDE = WorkClass(under_way_max=100_000, steps_max=1, slice_ms=0.5, first_ms=TURN_MS, may_begin_again=False)
_RECOVERY = WorkClass(under_way_max=BEGUN_MAX, steps_max=1, slice_ms=0.5, first_ms=TURN_MS, may_begin_again=False)


class StillRecovering(KafkaError):
    """The partition is being recovered: clients retry after the error that they get (NOT_LEADER_OR_FOLLOWER)."""

    def __init__(self, topic: str, partition: int, recoveries: Recoveries) -> None:
        super().__init__(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{partition} is being recovered")
        self._key = topic, partition
        self._recoveries = recoveries

    def when_over(self, callback: Callable[[], object]) -> None:
        """Call back once, when the partition is open, or was refused, or is gone."""
        self._recoveries.when_over(self._key, callback)


class OpensLater(StillRecovering):
    """The partition could be opened, but this turn of the loop has no time left: retry in another turn."""


class Recoveries:
    """The openings in progress on one event loop."""

    def __init__(
        self,
        upkeep: CooperativeScheduler,
        workers: Workers,
        config: BrokerConfig,
        end: Callable[[PartitionKey, PartitionLog | StorageError | None], None],
    ) -> None:
        """Start empty. `end` gets the result of an opening that took more than a slice: None if it was only recovered.

        workers: do a recovery that takes more than its first slice, while there are processes for it.
        """
        self._upkeep = upkeep
        self.beside = RecoveryQueue(workers, config)
        self._end = end
        self._callbacks: dict[PartitionKey, list[Callable[[], object]]] = {}
        """The partitions that are being opened, with the callbacks for when they are not any more."""
        self._openings: dict[PartitionKey, Future[PartitionLog | None]] = {}
        self._in_background: set[PartitionKey] = set()
        self._jobs = 0
        self._is_closed = False
        self.parked_bytes = 0
        """Bytes of records that requests hold while they wait for a partition."""

    def __contains__(self, key: PartitionKey) -> bool:
        return key in self._callbacks

    def __len__(self) -> int:
        return len(self._callbacks)

    @property
    def is_syncing(self) -> bool:
        """Whether something is being synced for a recovery, in a thread."""
        return self._jobs > 0

    @property
    def turn_is_over(self) -> bool:
        """Whether openings that can wait have used up their time in this turn."""
        return self._upkeep.spent_ms >= TURN_MS

    def begin(self, unopened: PartitionOpening, *, in_background: bool = False) -> PartitionLog | None:
        """Return the log if one slice opens it, else None: `end` is called later. Raises StorageError.

        in_background: no request waits for it, until `hurry` is called.
        """
        key = unopened.key
        assert key not in self, f"{key} is being opened already"
        is_recovery = unopened.is_unrecovered and not self._is_closed
        kind = (_BESIDE if self.beside.is_beside else _RECOVERY) if is_recovery else _OPENING
        if in_background:
            self._in_background.add(key)
        log = self._upkeep.in_slices(partial(self._open, unopened, kind), kind)
        if not isinstance(log, Future):
            self._in_background.discard(key)
            return log
        if self._is_closed:
            self._upkeep.give_up(log)
            raise StorageError(f"{key[0]}-{key[1]}", "the broker stops, and no longer recovers it")
        self._callbacks[key] = []
        self._openings[key] = log
        return None

    def hurry(self, key: PartitionKey) -> None:
        """Give a partition priority, because a request waits for it now."""
        self._in_background.discard(key)
        self.beside.hurry(key)

    def when_over(self, key: PartitionKey, callback: Callable[[], object]) -> None:
        """Call back when the partition is not being recovered any more: in a later turn, if it is not now."""
        if key in self._callbacks:
            self._callbacks[key].append(callback)
        else:
            self._upkeep.loop.call_soon(callback)

    def abandon(self, key: PartitionKey) -> None:
        """Abandon the recovery of a partition that is removed. Does nothing if it is not being recovered."""
        if key in self._callbacks:
            self._upkeep.give_up(self._openings.pop(key))
            self._in_background.discard(key)
            self._notify(self._callbacks.pop(key))

    def close(self) -> None:
        """Abandon all recoveries because the broker stops: the next start recovers what is not open now."""
        self._is_closed = True
        self.beside.close()
        for key in list(self._callbacks):
            self.abandon(key)

    def _open(self, unopened: PartitionOpening, kind: WorkClass) -> Work[PartitionLog | None]:
        """Return the log, or raise, in the first slice; later the result is passed to `end`."""
        key = unopened.key
        outcome: PartitionLog | StorageError | None
        try:
            if kind is _BESIDE:
                outcome = yield from self._recovered_beside(unopened)
            else:
                outcome = yield from self._steps(unopened.opening())
        except StorageError as error:
            if key not in self._callbacks:
                raise
            outcome = error
        except Exception as mistake:  # a bug, logged with its traceback; the other partitions must not be affected
            if key not in self._callbacks:
                raise
            _log.exception(line("recovery failed", topic=key[0], partition=key[1]))
            outcome = StorageError(f"{key[0]}-{key[1]}", repr(mistake))
        if key not in self._callbacks:
            assert not isinstance(outcome, StorageError)
            return outcome
        del self._openings[key]
        self._in_background.discard(key)
        callbacks = self._callbacks.pop(key)
        self._end(key, outcome)
        self._notify(callbacks)
        return None

    def _recovered_beside(self, unopened: PartitionOpening) -> Work[PartitionLog | None]:
        """Return the log if the first step opens it, else None once it is recovered: the next request opens it."""
        if unopened.key not in self._in_background or unopened.is_short:
            opening = unopened.opening()
            try:
                job = next(opening)
            except StopIteration as done:
                log: PartitionLog = done.value
                return log
            if job is not None:
                return (yield from self._steps(opening, job))
            opening.close()  # as a stop may do at any time: completed steps stay valid
            yield None
        over: Future[None] = self._upkeep.loop.create_future()
        self.beside.recover(unopened, over, in_background=unopened.key in self._in_background)
        try:
            yield over
            over.result()
        finally:
            self.beside.leave(unopened.key)
        return None

    def _steps(self, opening: Opening[PartitionLog], job: SyncJob | None = None) -> Work[PartitionLog]:
        """Run the opening, with its syncs in a thread. job: the one that it has yielded, if it was begun."""
        try:
            if job is None:
                job = next(opening)
            while True:
                if job is None:
                    yield None
                    job = next(opening)
                    continue
                syncing = self._begin_sync(job)
                yield syncing
                failure = _sync_failure(syncing)
                job = next(opening) if failure is None else opening.throw(failure)
        except StopIteration as done:
            log: PartitionLog = done.value
            return log
        finally:
            opening.close()

    def _begin_sync(self, job: SyncJob) -> Future[StorageError | None]:
        self._jobs += 1
        syncing = self._upkeep.loop.run_in_executor(None, storage_failure, job.run)
        syncing.add_done_callback(partial(self._synced, job))
        return syncing

    def _synced(self, job: SyncJob, done: Future[StorageError | None]) -> None:
        """End a sync, even if no request waits for the partition any more."""
        self._jobs -= 1
        if (mistake := done.exception()) is not None:
            _log.error("the sync of a recovery failed", exc_info=mistake)
        failure = _sync_failure(done)
        if failure is None:
            job.finish()
        else:
            job.failed(failure)

    def _notify(self, callbacks: list[Callable[[], object]]) -> None:
        for callback in callbacks:
            self._upkeep.loop.call_soon(callback)


def _sync_failure(done: Future[StorageError | None]) -> StorageError | None:
    """Return the failure of a sync. After a bug, too, the partition is refused, and the others are not affected."""
    mistake = done.exception()
    return done.result() if mistake is None else StorageError("the sync of a recovery", repr(mistake))
