"""Partitions that take more than a moment to open: they are recovered in slices of the event loop, between other work.

Knows openings (storage/recovery/opening.py) by their partition; what becomes of a log, and who waits for it, is its
owner's business. Why slices and no thread: docs/decisions/0025.

Theory of operation: the first slice is done at once, so that nearly every partition is open for the very request that
asked. What is not done then goes on in slices, one in each turn of the loop, the partitions in turn. Few are begun at a
time, since each holds a piece of its log in memory; the others wait in the order they were asked for. After a kill many
may be asked for in one turn: those that find its time used up wait, too. What a recovery has to sync is synced in a
thread.

Invariants: one slice at a time, and one in a turn besides those that begin; an opening is closed when it is abandoned;
after `close` nothing is begun that does not end in its first slice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from barnabas.broker.clock import Stopwatch
    from barnabas.storage.disk.sync_job import SyncJob
    from barnabas.storage.log.log import PartitionLog
    from barnabas.storage.recovery.opening import Opening

_log = logger("storage")
PartitionKey = tuple[str, int]

BEGUN_MAX = 8
_TURN_S = 0.005  # how long openings may begin in one turn of the loop


class StillRecovering(KafkaError):
    """The partition is being recovered: clients retry the answer they get then (NOT_LEADER_OR_FOLLOWER)."""

    def __init__(self, topic: str, partition: int, recoveries: Recoveries) -> None:
        super().__init__(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{partition} is being recovered")
        self._key = topic, partition
        self._recoveries = recoveries

    def when_over(self, callback: Callable[[], object]) -> None:
        """Call back once, when the partition is open, or was refused, or is gone."""
        self._recoveries.when_over(self._key, callback)


class Recoveries:
    """What is being opened on one event loop."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        stopwatch: Stopwatch,
        end: Callable[[PartitionKey, PartitionLog | StorageError], None],
    ) -> None:
        """`end` is given what became of an opening that was not done in its first slice."""
        self._loop = loop
        self._stopwatch = stopwatch
        self._end = end
        self._callbacks: dict[PartitionKey, list[Callable[[], object]]] = {}
        """Those that are being opened, and who is called when they are not any more."""
        self._waiting: deque[tuple[PartitionKey, Opening[PartitionLog]]] = deque()
        self._begun: deque[tuple[PartitionKey, Opening[PartitionLog]]] = deque()
        self._syncing: dict[PartitionKey, Opening[PartitionLog]] = {}
        self._jobs = 0
        self._is_scheduled = False
        self._is_closed = False
        self.parked_bytes = 0
        """Bytes of records that requests hold while they wait for a partition."""
        self._begun_s = 0.0  # spent on first slices in this turn

    def __contains__(self, key: PartitionKey) -> bool:
        return key in self._callbacks

    def __len__(self) -> int:
        return len(self._callbacks)

    @property
    def is_syncing(self) -> bool:
        """Whether something is being synced for a recovery, in a thread."""
        return self._jobs > 0

    def begin(self, key: PartitionKey, opening: Opening[PartitionLog], *, may_wait: bool) -> PartitionLog | None:
        """The log if one slice is enough to open it, None if it is not: `end` is called then. StorageError.

        may_wait: it is known to need recovery, and may be put off to another turn.
        """
        assert key not in self, f"{key} is being opened already"
        if may_wait and not self._is_closed and (self._is_full() or self._begun_s > _TURN_S):
            self._callbacks[key] = []
            self._waiting.append((key, opening))
            self._schedule()
            return None
        started_s = self._stopwatch()
        try:
            job = next(opening)
        except StopIteration as done:
            log: PartitionLog = done.value
            return log
        finally:
            self._spend(self._stopwatch() - started_s)
        if self._is_closed:
            opening.close()
            raise StorageError(f"{key[0]}-{key[1]}", "the broker stops, and does not recover it any more")
        self._callbacks[key] = []
        self._go_on_after(key, opening, job)
        return None

    def when_over(self, key: PartitionKey, callback: Callable[[], object]) -> None:
        """Call back when the partition is not being recovered any more: in a turn to come, if it is not now."""
        if key in self._callbacks:
            self._callbacks[key].append(callback)
        else:
            self._loop.call_soon(callback)

    def abandon(self, key: PartitionKey) -> None:
        """The partition goes: recover it no further. Nothing happens if it is not being recovered."""
        if key not in self._callbacks:
            return
        for openings in (self._waiting, self._begun):
            for each in list(openings):
                if each[0] == key:
                    openings.remove(each)
                    each[1].close()
        if (opening := self._syncing.pop(key, None)) is not None:
            opening.close()
        self._tell(key)
        self._schedule()  # there may be room now for one that waits

    def close(self) -> None:
        """The broker stops: what is not open now is left as it is, for the next start to recover."""
        self._is_closed = True
        for key in list(self._callbacks):
            self.abandon(key)

    # --- slices ---

    def _is_full(self) -> bool:
        return len(self._begun) + len(self._syncing) >= BEGUN_MAX

    def _spend(self, seconds: float) -> None:
        if not self._begun_s:
            self._loop.call_soon(self._forget_spending)
        self._begun_s += seconds

    def _forget_spending(self) -> None:
        self._begun_s = 0.0

    def _schedule(self) -> None:
        if not self._is_scheduled and (self._begun or self._waiting):
            self._is_scheduled = True
            self._loop.call_soon(self._run_slice)

    def _run_slice(self) -> None:
        self._is_scheduled = False
        if self._waiting and not self._is_full():
            key, opening = self._waiting.popleft()
        elif self._begun:
            key, opening = self._begun.popleft()
        else:
            return  # abandoned, all of them
        self._step(key, opening, lambda: next(opening))
        self._schedule()

    def _step(self, key: PartitionKey, opening: Opening[PartitionLog], resume: Callable[[], SyncJob | None]) -> None:
        try:
            job = resume()
        except StopIteration as done:
            self._finish(key, done.value)
        except StorageError as error:
            self._finish(key, error)
        except Exception as mistake:  # ours, and logged with where it was made; the other partitions are not to suffer
            _log.exception(line("recovery failed", topic=key[0], partition=key[1]))
            self._finish(key, StorageError(f"{key[0]}-{key[1]}", repr(mistake)))
        else:
            self._go_on_after(key, opening, job)

    def _go_on_after(self, key: PartitionKey, opening: Opening[PartitionLog], job: SyncJob | None) -> None:
        if job is None:
            self._begun.append((key, opening))
            self._schedule()
            return
        self._syncing[key] = opening
        self._jobs += 1
        running = self._loop.run_in_executor(None, _error_of, job)
        running.add_done_callback(partial(self._synced, key, opening, job))

    def _synced(
        self, key: PartitionKey, opening: Opening[PartitionLog], job: SyncJob, done: Future[StorageError | None]
    ) -> None:
        self._jobs -= 1
        failure = done.result()
        if failure is None:
            job.finish()
        else:
            job.failed(failure)
        if self._syncing.get(key) is opening:  # not abandoned meanwhile
            del self._syncing[key]
            if failure is None:
                self._begun.append((key, opening))
            else:
                error = failure
                self._step(key, opening, lambda: opening.throw(error))
        self._schedule()

    def _finish(self, key: PartitionKey, outcome: PartitionLog | StorageError) -> None:
        callbacks = self._callbacks.pop(key)
        self._end(key, outcome)
        for callback in callbacks:
            self._loop.call_soon(callback)

    def _tell(self, key: PartitionKey) -> None:
        for callback in self._callbacks.pop(key):
            self._loop.call_soon(callback)


def _error_of(job: SyncJob) -> StorageError | None:
    """Run it, in a thread."""
    try:
        job.run()
    except StorageError as error:
        return error
    except Exception as mistake:  # ours; the partition is refused, and the others are not to suffer
        _log.exception("the sync of a recovery failed")
        return StorageError("the sync of a recovery", repr(mistake))
    return None
