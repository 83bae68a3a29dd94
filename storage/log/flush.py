"""Making a partition durable: what is not synced yet, when it is due, and the recovery point that says how far it got.

Knows segments, snapshots and epochs as files to sync; knows nothing of appends. A plan is made and ended on the thread
that owns the log, and run in any other: the log may grow meanwhile, the plan covers what there was.

Invariants: everything below `recovery_point` is on the disk: batches, and for sealed segments also their indexes, the
producer snapshot at their end and the leader epochs, because recovery looks at nothing below it. A plan that fails
moves nothing; if it was a sync that failed, the directory is offline (storage/disk/disk.py) and no later plan is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.storage.config import LogConfig
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import StorageError
from barnabas.storage.producers.snapshots import ProducerSnapshots
from barnabas.storage.segment.epochs import LeaderEpochs
from barnabas.storage.segment.segment import Segment, SyncWork


class FlushPlan:
    """What to sync, and the offset below which everything is durable once `run` has returned."""

    __slots__ = ("_job", "end_offset", "segments", "snapshots")

    def __init__(
        self, job: SyncJob, end_offset: int, segments: list[tuple[Segment, SyncWork]], snapshots: set[int]
    ) -> None:
        self._job = job
        self.end_offset = end_offset
        self.segments = segments
        self.snapshots = snapshots

    def run(self) -> None:
        """Sync, in whatever thread. StorageError at the first failure, to be passed to `Flusher.failed`."""
        self._job.run()

    def finish(self) -> None:
        """After a run that succeeded, on the owner's thread."""
        self._job.finish()

    def failed(self, error: StorageError) -> None:
        """After a run that raised, on the owner's thread."""
        self._job.failed(error)


class Flusher:
    """The recovery point of a partition and what moves it."""

    def __init__(
        self, directory: Directory, snapshots: ProducerSnapshots, epochs: LeaderEpochs, recovery_point: int
    ) -> None:
        self.recovery_point = recovery_point
        self._flushed_ms: int | None = None  # None: noted when next asked, by the clock of who asks
        self._directory = directory
        self._snapshots = snapshots
        self._epochs = epochs

    def is_due_before_answer(self, log_end_offset: int, config: LogConfig) -> bool:
        """Whether flush.messages is reached: who appended is answered after a flush."""
        return log_end_offset - self.recovery_point >= config.flush_messages

    def is_due(self, log_end_offset: int, active_base_offset: int, config: LogConfig, now_ms: int) -> bool:
        """Whether a flush in the background is due: flush.messages, flush.ms, or a sealed segment not synced."""
        if self._flushed_ms is None or self.recovery_point >= log_end_offset:
            self._flushed_ms = now_ms
        return self.recovery_point < log_end_offset and (
            self.recovery_point < active_base_offset
            or now_ms - self._flushed_ms >= config.flush_ms
            or self.is_due_before_answer(log_end_offset, config)
        )

    def plan(self, segments: Sequence[Segment], end_offset: int) -> FlushPlan | None:
        """A plan for everything below `end_offset` (the log end, or the active segment's base); None if all is done.

        `segments` are all of the log, in order.
        """
        return None if self.recovery_point >= end_offset else self.plan_all(segments, end_offset)

    def plan_all(self, segments: Sequence[Segment], end_offset: int) -> FlushPlan:
        """The same, also if nothing but indexes or names is left to sync."""
        work = [
            (segment, segment.files_to_sync())
            for segment, after in zip(segments, [*segments[1:], None], strict=True)
            if (after is None or after.base_offset >= self.recovery_point) and segment.base_offset <= end_offset
        ]
        snapshots = {offset for offset in self._snapshots.unsynced if offset <= end_offset}
        job = SyncJob(
            self._directory.disk,
            files=[file for _, todo in work for file in todo.files],
            paths=[path for _, todo in work for path in todo.paths] + self._snapshots.paths(snapshots),
            directories=[self._directory] if self._directory.is_dirty else [],
            replacements=[self._epochs.replacement()] if self._epochs.is_dirty else [],
        )
        return FlushPlan(job, end_offset, work, snapshots)

    def finish(self, plan: FlushPlan) -> None:
        """The plan ran: move the recovery point."""
        plan.finish()
        for segment, todo in plan.segments:
            segment.mark_synced(todo)
        self._snapshots.unsynced -= plan.snapshots
        self.recovery_point = max(self.recovery_point, plan.end_offset)
        self._flushed_ms = None
