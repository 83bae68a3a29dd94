"""After a kill: recovers in the background every partition that is not recovered yet, and logs the progress.

Knows the partitions by name; recoveries.py recovers them, those that requests wait for first. Where recovery is done in
slices of the event loop, one partition is recovered after another, and closed again. A partition that cannot be
recovered is counted, and the next request for it gets the error (failed_openings.py).

Invariant: `remaining` counts the partitions of the data directories that may still be recovered, for this pass or for a
request.
"""

from __future__ import annotations

from asyncio import Future
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.scheduler import Work, WorkClass
from barnabas.protocol.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.purgatory import PartitionKey
    from barnabas.broker.runtime.clock import Clock, Timer
    from barnabas.broker.runtime.scheduler import CooperativeScheduler

_log = logger("storage")
_PASS = WorkClass(under_way_max=1, steps_max=1, slice_ms=0.5, may_begin_again=False)
FIRST_LOGGED_MS = 1_000
_LOGGED_EVERY_MS = 5_000
_REQUESTED_MAX = 32
"""The maximum number of partitions in the recovery queue at a time."""


class RecoveryProgress(NamedTuple):
    """The progress of the recovery after a kill."""

    total: int
    remaining: int
    failed: int
    done_bytes: int

    def __str__(self) -> str:
        failed = f", {self.failed} could not be" if self.failed else ""
        return f"{self.total - self.remaining - self.failed} of {self.total} partitions are recovered{failed}"


class RecoveryPass:
    """The recovery pass of one run."""

    def __init__(self, partitions: Partitions, clock: Clock, upkeep: CooperativeScheduler) -> None:
        self._partitions = partitions
        self._clock = clock
        self._upkeep = upkeep
        self._total = len(partitions.directory.unrecovered)
        self._under_way: set[PartitionKey] = set()
        self._over: Future[None] | None = None
        """Done when one recovery in progress is over; present while that is waited for."""
        self._work: Future[None] | None = None
        self._timer: Timer | None = None
        self._begun_s = 0.0

    @property
    def progress(self) -> RecoveryProgress | None:
        """The progress, or None if nothing is left to recover."""
        found = self._progress()
        return found if found.remaining else None

    @property
    def awaited(self) -> str:
        """The progress as text with a leading colon, for the line of a start that waits; empty if nothing is left."""
        found = self.progress
        return "" if found is None else f": {found}"

    def watch(self) -> None:
        """Log the progress of recovery from now on, once a second has passed. Called when the start begins."""
        if self._total:
            self._begun_s = self._clock.monotonic()
            self._timer = self._clock.call_later(FIRST_LOGGED_MS, self._log_progress)

    def begin(self) -> None:
        """Recover the partitions that are left."""
        if self._total:
            work = self._upkeep.in_slices(partial(self._recover, self._partitions.directory.unrecovered), _PASS)
            self._work = work if isinstance(work, Future) else None

    def stop(self) -> None:
        """Stop the pass because the broker stops: the next start recovers the rest."""
        if self._timer is not None:
            self._timer.cancel()
        if self._work is not None:
            self._work.cancel()

    def _progress(self) -> RecoveryProgress:
        left = self._partitions.directory.unrecovered
        failed = sum(self._partitions.failed.has(key) for key in left)
        return RecoveryProgress(self._total, len(left) - failed, failed, self._partitions.recoveries.beside.done_bytes)

    def _recover(self, left: list[PartitionKey]) -> Work[None]:
        for key in left:
            at_most = _REQUESTED_MAX if self._partitions.workers.has_processes else 1
            while len(self._under_way) >= at_most:
                yield self._one_over()
            self._begin_one(key)
            yield None
        while self._under_way:
            yield self._one_over()
        self._ended()

    def _begin_one(self, key: PartitionKey) -> None:
        partitions = self._partitions
        if not partitions.is_here(*key) or not partitions.directory.is_unrecovered(*key):
            return
        is_ours = not partitions.is_used(*key)
        try:
            partitions.open_log(*key, in_background=True)
        except StillRecovering as recovering:
            self._under_way.add(key)
            recovering.when_over(partial(self._one_ended, key, is_ours))
        except KafkaError:
            return  # logged, and counted
        else:
            partitions.close(*key)

    def _one_over(self) -> Future[None]:
        self._over = self._upkeep.loop.create_future()
        return self._over

    def _one_ended(self, key: PartitionKey, is_ours: bool) -> None:
        self._under_way.discard(key)
        if is_ours:
            self._partitions.close(*key)  # if it is open, because it was recovered in slices
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    def _log_progress(self) -> None:
        found = self._progress()
        if found.remaining:
            _log.info(line("recovery continues", **self._facts(found)))
            self._timer = self._clock.call_later(_LOGGED_EVERY_MS, self._log_progress)

    def _ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        found = self._progress()
        took_ms = int((self._clock.monotonic() - self._begun_s) * 1000)
        log = _log.info if took_ms >= FIRST_LOGGED_MS or found.failed else _log.debug
        log(line("recovery ended", **self._facts(found), took_ms=took_ms))

    def _facts(self, found: RecoveryProgress) -> dict[str, int | str | None]:
        done = found.total - found.remaining - found.failed
        return {"partitions": f"{done}/{found.total}", "failed": found.failed or None, "bytes": found.done_bytes}
