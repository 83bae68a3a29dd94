"""After a kill: every partition that was not looked into yet is recovered in the background, and it is told how far.

Knows the partitions by name; how one is recovered, and that those somebody asks for come first, is recoveries.py's.
Where recovery is done in slices of the event loop, one partition is recovered after another, and closed again. A
partition that cannot be recovered is counted, and left to who asks for it (failed_openings.py).

Invariant: `remaining` counts the partitions of the data directories that may be recovered yet, whoever asked for it.
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
FIRST_TOLD_MS = 1_000
_TOLD_EVERY_MS = 5_000
_ASKED_FOR_MAX = 32
"""How many may be in the line at a time."""


class Progress(NamedTuple):
    """How far the recovery after a kill has come."""

    total: int
    remaining: int
    failed: int
    done_bytes: int

    def __str__(self) -> str:
        failed = f", {self.failed} could not be" if self.failed else ""
        return f"{self.total - self.remaining - self.failed} of {self.total} partitions are recovered{failed}"


class RecoveryPass:
    """That of one run."""

    def __init__(self, partitions: Partitions, clock: Clock, upkeep: CooperativeScheduler) -> None:
        self._partitions = partitions
        self._clock = clock
        self._upkeep = upkeep
        self._total = len(partitions.directory.unrecovered)
        self._under_way: set[PartitionKey] = set()
        self._over: Future[None] | None = None
        """Done when one of those under way is over; present while that is waited for."""
        self._work: Future[None] | None = None
        self._timer: Timer | None = None
        self._begun_s = 0.0

    @property
    def progress(self) -> Progress | None:
        """None where there is nothing to recover, or nothing is left."""
        found = self._progress()
        return found if found.remaining else None

    @property
    def awaited(self) -> str:
        """What a start may wait for, behind a colon; nothing where there is nothing to recover."""
        found = self.progress
        return "" if found is None else f": {found}"

    def watch(self) -> None:
        """The start begins: from now on it is told how far recovery is, once a second has passed."""
        if self._total:
            self._begun_s = self._clock.monotonic()
            self._timer = self._clock.call_later(FIRST_TOLD_MS, self._tell)

    def begin(self) -> None:
        """Recover what is left."""
        if self._total:
            work = self._upkeep.in_slices(partial(self._recover, self._partitions.directory.unrecovered), _PASS)
            self._work = work if isinstance(work, Future) else None

    def stop(self) -> None:
        """The broker stops: what is left is for the next start to recover."""
        if self._timer is not None:
            self._timer.cancel()
        if self._work is not None:
            self._work.cancel()

    def _progress(self) -> Progress:
        left = self._partitions.directory.unrecovered
        failed = sum(self._partitions.failed.has(key) for key in left)
        return Progress(self._total, len(left) - failed, failed, self._partitions.recoveries.beside.done_bytes)

    def _recover(self, left: list[PartitionKey]) -> Work[None]:
        for key in left:
            at_most = _ASKED_FOR_MAX if self._partitions.workers.has_processes else 1
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
            self._partitions.close(*key)  # where it is open: it was recovered in slices
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    def _tell(self) -> None:
        found = self._progress()
        if found.remaining:
            _log.info(line("recovery goes on", **self._facts(found)))
            self._timer = self._clock.call_later(_TOLD_EVERY_MS, self._tell)

    def _ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        found = self._progress()
        took_ms = int((self._clock.monotonic() - self._begun_s) * 1000)
        tell = _log.info if took_ms >= FIRST_TOLD_MS or found.failed else _log.debug
        tell(line("recovery ended", **self._facts(found), took_ms=took_ms))

    def _facts(self, found: Progress) -> dict[str, int | str | None]:
        done = found.total - found.remaining - found.failed
        return {"partitions": f"{done}/{found.total}", "failed": found.failed or None, "bytes": found.done_bytes}
