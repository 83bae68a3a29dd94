# compiled: mypyc
"""Flushing a partition: the unsynced data, when a flush is due, and the recovery point that it moves.

Knows segments, snapshots and epochs as files to sync; knows nothing of appends. A plan is made and ended on the thread
that owns the log, and run in any other: the log may grow meanwhile, the plan covers the data when it was made.

Invariants: everything below `recovery_point` is on the disk: batches, and for sealed segments also their indexes, the
producer snapshot at their end and the leader epochs, because recovery checks nothing below it. A plan that fails
moves nothing; if it was a sync that failed, the directory is offline (storage/disk/disk.py) and no later plan is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.storage.config import LogConfig
from barnabas.storage.disk import sync_job
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.files import CommonSync
from barnabas.storage.disk.small_file import Replacement
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import StorageError
from barnabas.storage.log.segments import Segments
from barnabas.storage.log.watermarks import Watermarks
from barnabas.storage.producers.snapshots import ProducerSnapshots
from barnabas.storage.segment.leader_epoch_cache import LeaderEpochCache
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segment_checksums import SegmentChecksums
from barnabas.storage.segment.sync_state import SyncWork


class FlushPlan:
    """The data to sync, and the offset below which everything is durable once `run` has returned."""

    __slots__ = ("_may_share", "end_offset", "job", "segments", "snapshots", "snapshots_written")

    def __init__(
        self,
        job: SyncJob,
        end_offset: int,
        segments: list[tuple[Segment, SyncWork]],
        snapshots: set[int],
        snapshots_written: dict[int, Replacement],
        *,
        may_share: bool,
    ) -> None:
        self._may_share = may_share
        self.job = job
        self.end_offset = end_offset
        self.segments = segments
        self.snapshots = snapshots
        self.snapshots_written = snapshots_written

    def run(self) -> None:
        """Sync, in any thread. StorageError at the first failure, to be passed to `Flusher.failed`."""
        self.job.run()

    @property
    def syncs(self) -> int:
        """The number of files and directories to sync."""
        return self.job.syncs

    @property
    def can_share(self) -> bool:
        """Whether it may be run by `run_together`."""
        return self._may_share and self.job.can_share

    def finish(self) -> None:
        """Finish the job after a successful run, on the owner's thread."""
        self.job.finish()

    def failed(self, error: StorageError) -> None:
        """End the job after a run that raised, on the owner's thread."""
        self.job.failed(error)


def run_together(plans: Sequence[FlushPlan], common_sync: CommonSync) -> None:
    """Run plans of one data directory by one sync, in any thread. StorageError: then none of them has run."""
    sync_job.run_together([plan.job for plan in plans], common_sync)


class Flusher:
    """The recovery point of one log and the flushes that move it."""

    __slots__ = (
        "_directory",
        "_epochs",
        "_flush_messages",
        "_flush_ms",
        "_flushed_ms",
        "_may_share",
        "_planned_end",
        "_segments",
        "_snapshots",
        "_sums",
        "_watermarks",
    )

    def __init__(
        self,
        directory: Directory,
        segments: Segments,
        watermarks: Watermarks,
        snapshots: ProducerSnapshots,
        epochs: LeaderEpochCache,
        sums: SegmentChecksums,
        config: LogConfig,
    ) -> None:
        self._planned_end = watermarks.recovery_point
        self._flushed_ms: int | None = None  # None: set by the next `is_due`
        self._directory = directory
        self._may_share = directory.disk.is_in_common_sync(directory.path)
        self._segments = segments
        self._watermarks = watermarks
        self._snapshots = snapshots
        self._epochs = epochs
        self._sums = sums
        self.configure(config)

    def configure(self, config: LogConfig) -> None:
        """Apply these settings from now on."""
        self._flush_ms = config.flush_ms

    @property
    def recovery_point(self) -> int:
        """The offset below which everything is on the disk."""
        return self._watermarks.recovery_point

    def reaches(self, end_offset: int) -> bool:
        """Return whether the recovery point is at the log end, or will be after the flushes in progress."""
        return self._planned_end >= end_offset

    def is_due(self, now_ms: int) -> bool:
        """Return whether a background flush is due: flush.messages, flush.ms, or a part of a sealed segment.

        Call it regularly: flush.ms is counted from the first call after an append.
        """
        log_end_offset = self._watermarks.log_end_offset
        if self._flushed_ms is None or self.recovery_point >= log_end_offset:
            self._flushed_ms = now_ms
        if self._snapshots.are_awaited:
            return True
        return self.recovery_point < log_end_offset and (
            self.recovery_point < self._segments.active.base_offset
            or now_ms - self._flushed_ms >= self._flush_ms
            or self._watermarks.is_sync_awaited
        )

    def begin(self, *, sealed_only: bool = False) -> FlushPlan | None:
        """Return a plan to run in any thread, then `finish` or `failed`. None if all is synced."""
        end_offset = self._segments.active.base_offset if sealed_only else self._watermarks.log_end_offset
        is_synced = self.recovery_point >= end_offset and not self._snapshots.are_awaited
        return None if is_synced else self._plan(self._segments.all, end_offset)

    def finish(self, plan: FlushPlan) -> None:
        """Move the recovery point after the plan ran, and the high watermark if it waited for that."""
        assert plan.end_offset <= self._watermarks.log_end_offset, (
            f"{self._directory.path}: flushed up to {plan.end_offset}, the log ends at "
            f"{self._watermarks.log_end_offset}"
        )
        plan.finish()
        for segment, todo in plan.segments:
            segment.mark_synced(todo)
        self._snapshots.unsynced -= plan.snapshots
        self._snapshots.written(plan.snapshots_written)
        self._watermarks.synced(plan.end_offset)
        self._flushed_ms = None

    def failed(self, plan: FlushPlan, error: StorageError) -> None:
        """End a plan that raised: nothing moves; after a failed sync the directory is offline until a restart."""
        plan.failed(error)

    def flush_now(self, segments: Sequence[Segment] | None = None) -> None:
        """Sync the whole log on this thread, indexes and names included; or `segments`, the last of it."""
        plan = self._plan(self._segments.all if segments is None else segments, self._watermarks.log_end_offset)
        try:
            plan.run()
        except StorageError as error:
            self.failed(plan, error)
            raise
        self.finish(plan)

    def _plan(self, segments: Sequence[Segment], end_offset: int) -> FlushPlan:
        work = [(segment, segment.files_to_sync()) for segment in self._not_synced(segments, end_offset)]
        unsynced = self._snapshots.unsynced
        snapshots = {offset for offset in unsynced if offset <= end_offset} if unsynced else set()
        snapshots_written = self._snapshots.replacements(end_offset)
        sealed = [(segment, todo) for segment, todo in work if todo.is_sealed]
        written = [segment for segment, todo in sealed if todo.paths or segment.base_offset not in self._sums]
        self._sums.update(self._segments.all, written)
        job = SyncJob(
            self._directory.disk,
            files=[file for _, todo in work for file in todo.files],
            paths=[path for _, todo in work for path in todo.paths] + self._snapshots.paths(snapshots),
            directories=[self._directory] if self._directory.is_dirty else [],
            replacements=[
                *(file.replacement() for file in (self._epochs, self._sums) if file.is_dirty),
                *snapshots_written.values(),
            ],
        )
        self._planned_end = max(self._planned_end, end_offset)
        return FlushPlan(job, end_offset, work, snapshots, snapshots_written, may_share=self._may_share)

    def _not_synced(self, segments: Sequence[Segment], end_offset: int) -> Sequence[Segment]:
        """Return the segments that reach above the recovery point, or end at it: indexes may not be synced."""
        if self.recovery_point > segments[-1].base_offset:
            return segments[-1:]
        return [
            segment
            for segment, after in zip(segments, [*segments[1:], None], strict=True)
            if (after is None or after.base_offset >= self.recovery_point) and segment.base_offset <= end_offset
        ]
