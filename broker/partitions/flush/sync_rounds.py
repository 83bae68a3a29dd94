"""How the plans of a round are synced, in the flush thread: file by file with helper threads, or all by one call.

Knows plans and a stopwatch, not who waits. A file system writes many files at once in little more time than one, so
helpers sync files in parallel. Where the system has one call for all files (`CommonSync`), a round of several files
uses it: it costs a tenth of the processor time, and no more of any other resource.

Theory of operation: that call also writes the data that other programs have written to the same file system, which may
be gigabytes. So each round is timed. While the call is slow, both in absolute terms and compared with rounds file by
file, it is not used for a time, and then tried again: docs/decisions/0101.

Invariants: a plan that writes small files, or is of another file system, syncs by itself; when the one call fails,
every plan that shared it has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.partitions.flush.disk_work import storage_failure
from barnabas.broker.runtime.clock import Stopwatch, monotonic
from barnabas.storage.errors import StorageError
from barnabas.storage.log.flush import run_together

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from barnabas.storage.disk.files import CommonSync
    from barnabas.storage.log.flush import FlushPlan

SYNC_HELPERS_MAX = 8
"""The number of threads that sync files beside the flush thread. In sequence, each file costs a journal commit."""
SYNCS_MIN = 4
"""From this number of syncs on, one call is faster than they are, and always cheaper."""
SLOW_S = 0.05
REST_S = 5.0
REST_S_MAX = 320.0
_SLOWER = 2  # than rounds file by file
_SMOOTHING = 8  # rounds that an average covers, roughly
Errors = list[StorageError | None]


class SyncRounds:
    """Runs rounds, one at a time. `common_sync`: syncs many files by one call, None if nothing does."""

    def __init__(
        self, helpers_max: int = 0, common_sync: CommonSync | None = None, stopwatch: Stopwatch = monotonic
    ) -> None:
        """Start no threads yet. helpers_max: the number of threads that help the calling one."""
        self._helpers_max = helpers_max
        self._helpers: ThreadPoolExecutor | None = None
        self._common_sync = common_sync
        self._stopwatch = stopwatch
        self._pace = SyncPace()

    def run(self, plans: Sequence[FlushPlan]) -> Errors:
        """Sync the plans and return the error of each, or None. Runs in the flush thread."""
        common_sync = self._common_sync
        if common_sync is None or sum(plan.syncs for plan in plans) < SYNCS_MIN:
            return self._by_file(plans)
        begun_s = self._stopwatch()
        if self._pace.is_resting(begun_s) or not common_sync.is_usable():
            errors = self._by_file(plans)
            self._pace.note_by_file(self._stopwatch() - begun_s)
            return errors
        alone = [plan for plan in plans if not plan.can_share]
        if alone:
            return self._mixed(plans, alone)
        return [self._together(plans, common_sync)] * len(plans)

    def close(self) -> None:
        """Stop the helper threads."""
        if self._helpers is not None:
            self._helpers.shutdown()

    def _mixed(self, plans: Sequence[FlushPlan], alone: Sequence[FlushPlan]) -> Errors:
        """Run a round with plans that write small files, which are rare except at the first uses of many partitions."""
        errors = dict(zip(alone, self._by_file(alone), strict=True))
        sharing = [plan for plan in plans if plan not in errors]
        errors |= zip(sharing, self.run(sharing), strict=True)
        return [errors[plan] for plan in plans]

    def _together(self, plans: Sequence[FlushPlan], common_sync: CommonSync) -> StorageError | None:
        begun_s = self._stopwatch()
        error = storage_failure(lambda: run_together(plans, common_sync))
        ended_s = self._stopwatch()
        self._pace.note_together(ended_s - begun_s, ended_s)
        return error

    def _by_file(self, plans: Sequence[FlushPlan]) -> Errors:
        runs = [plan.run for plan in plans]
        if self._helpers_max == 0 or len(plans) == 1:
            return list(map(storage_failure, runs))
        if self._helpers is None:
            from concurrent.futures import ThreadPoolExecutor

            self._helpers = ThreadPoolExecutor(self._helpers_max, "sync")
        return list(self._helpers.map(storage_failure, runs))


class SyncPace:
    """Decides whether the one call is slow, from measured seconds.

    Uses averages, since any disk is slow at times. A rest that ends in a slow call is followed by one twice as long.
    """

    def __init__(self) -> None:
        self._by_file_s = 0.0
        self._together_s = 0.0
        self._rest_s = REST_S
        self._rests_until_s: float | None = None

    def is_resting(self, now_s: float) -> bool:
        """Return whether the call is not to be used for now."""
        return self._rests_until_s is not None and now_s < self._rests_until_s

    def note_by_file(self, seconds: float) -> None:
        """Note the time that a round took file by file, which the call could have done."""
        self._by_file_s += (seconds - self._by_file_s) / _SMOOTHING

    def note_together(self, seconds: float, now_s: float) -> None:
        """Note the time of a round that used the call, and ends now."""
        self._together_s += (seconds - self._together_s) / _SMOOTHING
        if self._together_s <= max(SLOW_S, _SLOWER * self._by_file_s):
            if seconds <= SLOW_S:
                self._rest_s = REST_S
            return
        self._rests_until_s = now_s + self._rest_s
        self._rest_s = min(2 * self._rest_s, REST_S_MAX)
        self._together_s = 0.0
