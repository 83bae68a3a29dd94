"""One cleaning of one log: the job is created, run beside the event loop, and its segments are swapped in.

Knows one open log; log_cleaner.py chooses the log and handles failures. The log may be appended to, read and closed
while it is cleaned. Before segments are swapped, everything is checked again: the log is still compacted and not being
moved to another directory, and its segments are those that the job read. If not, the result is discarded.

Invariants: nothing is swapped before the checkpoints say that the replaced segments were synced, so a start after a
kill trusts the new segments as they are, and that the log is compacted, so recovery does not take the holes for a loss;
the checkpoint of first dirty offsets moves after the swap.
"""

from __future__ import annotations

import os
from asyncio import Future
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.partitions.cleaning.stats import Cleaned
from barnabas.broker.partitions.flush.disk_work import storage_failure
from barnabas.storage.cleaner.batch_retention import LastRecord
from barnabas.storage.cleaner.job import CleanJob, SourceSegment
from barnabas.storage.log.cleaning.segment_replacement import Replaced, SegmentsGone, removal_of_cleaned

if TYPE_CHECKING:
    from barnabas.broker.partitions.cleaning.settings import CleanerSettings
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.purgatory import PartitionKey
    from barnabas.broker.runtime.clock import Clock, Stopwatch
    from barnabas.broker.runtime.events import Events
    from barnabas.broker.runtime.scheduler import CooperativeScheduler, Work
    from barnabas.broker.runtime.workers.workers import Workers
    from barnabas.storage.cleaner.results import CleanResult
    from barnabas.storage.disk.sync_job import SyncJob
    from barnabas.storage.errors import StorageError
    from barnabas.storage.log.cleaning.cleanable import Cleanable
    from barnabas.storage.log.log import PartitionLog

_PRODUCERS_A_STEP = 1_000


class Discarded(Exception):
    """The log has changed, so the result of its cleaning cannot be used. The message says why."""


class CleanerContext(NamedTuple):
    """The dependencies of a cleaning."""

    partitions: Partitions
    settings: CleanerSettings
    clock: Clock
    stopwatch: Stopwatch
    upkeep: CooperativeScheduler
    workers: Workers
    is_moving: Callable[[PartitionKey], bool]
    """Whether a partition is being moved to another data directory."""
    is_compacted: Callable[[str], bool]
    """Whether cleanup.policy of a topic contains `compact`."""
    syncing: set[Future[StorageError | None]]
    """The syncs that are running in threads."""
    events: Events

    def run(
        self, job: SyncJob, end: Callable[[SyncJob, StorageError | None], None] | None = None
    ) -> Future[StorageError | None]:
        """Run a job in a thread and then end it, with `end` or with its own methods."""

        def ended(done: Future[StorageError | None]) -> None:
            self.syncing.discard(done)
            failure = done.result()
            if end is not None:
                end(job, failure)
            elif failure is None:
                job.finish()
            else:
                job.failed(failure)

        running = self.upkeep.loop.run_in_executor(None, storage_failure, job.run)
        self.syncing.add(running)
        running.add_done_callback(ended)
        return running


class CleaningRound:
    """A cleaning that is in progress."""

    def __init__(self, around: CleanerContext, key: PartitionKey, cleanable: Cleanable) -> None:
        self.key = key
        self.cleanable = cleanable
        self.done_bytes = 0
        """Read and written so far."""
        self._around = around
        self._begun_s = around.stopwatch()

    def work(self) -> Work[Cleaned]:
        """Do the cleaning. Raises Discarded, KafkaError, StorageError, and errors of a job. Closed when cancelled."""
        around = self._around
        log = around.partitions.get(*self.key)
        log.is_being_cleaned = True
        try:
            yield from self._swapped(log)  # a swap that an earlier round could not complete
            before = log.extents
            job = yield from self._job(log)
            result = yield from self._done(job)
            sizes = dict(before)
            groups = [
                Replaced(group.base_offset, tuple((base, sizes[base]) for base in group.source_base_offsets))
                for group in result.groups
            ]
            yield from self._put_in_place(groups, result.end_offset)
            return self._cleaned(result, sum(size for group in groups for _, size in group.sources))
        finally:
            log.is_being_cleaned = False

    # --- the job ---

    def _job(self, log: PartitionLog) -> Work[CleanJob]:
        settings, cleanable = self._around.settings, self.cleanable
        extents = log.extents
        segments = [extent for extent in extents[:-1] if extent[0] < cleanable.first_uncleanable_offset]
        end_offset = extents[len(segments)][0]
        steps = log.aborted_behind(end_offset)
        try:
            while True:
                next(steps)
                yield None
        except StopIteration as stop:
            aborted = stop.value
        last_records: dict[int, LastRecord] = {}
        found = log.producers.last_records(end_offset)
        for at in range(0, len(found), _PRODUCERS_A_STEP):
            for producer_id, offset, epoch in found[at : at + _PRODUCERS_A_STEP]:
                last_records[producer_id] = LastRecord(offset, epoch)
            yield None
        return CleanJob(
            directory=os.path.abspath(log.directory.path),
            segments=tuple(SourceSegment(*extent) for extent in segments),
            end_offset=end_offset,
            first_dirty=cleanable.first_dirty_offset,
            first_uncleanable=cleanable.first_uncleanable_offset,
            high_watermark=log.high_watermark,
            now_ms=self._around.clock.now_ms(),
            config=log.config,
            last_records=last_records,
            aborted_later=tuple(aborted),
            dedupe_buffer_bytes=settings.dedupe_buffer_bytes,
            load_factor=settings.load_factor,
            io_buffer_bytes=settings.io_buffer_bytes,
        )

    def _done(self, job: CleanJob) -> Work[CleanResult]:
        workers = self._around.workers
        running = workers.run(
            job, in_background=True, on_progress=self._progress, bytes_per_s=self._around.settings.bytes_per_s
        )
        try:
            yield running
            if running.cancelled():
                raise Discarded("the broker stops")
            return running.result()
        finally:
            if not running.done():
                workers.give_up(running)

    def _progress(self, done_bytes: int) -> None:
        self.done_bytes = done_bytes

    # --- the swap ---

    def _put_in_place(self, groups: list[Replaced], end_offset: int) -> Work[None]:
        around = self._around
        home = around.partitions.directory.home(*self.key)
        if home is None:
            raise Discarded("it was deleted")
        home.checkpoints.note_cleaned(self.key, self.cleanable.first_dirty_offset)  # the row says: the log has holes
        yield from self._synced(home.begin_checkpoint(), home.end_checkpoint)
        log = around.partitions.get(*self.key)
        try:
            self._check(log)
            log.replacer.begin(groups, around.clock.now_ms())
        except (SegmentsGone, Discarded) as why:
            yield from self._synced(removal_of_cleaned(log.directory))
            raise Discarded(str(why)) from why
        yield from self._swapped(log)
        if not home.has(self.key) or around.partitions.directory.home(*self.key) is not home:
            raise Discarded("it was deleted or moved")
        home.checkpoints.note_cleaned(self.key, end_offset)
        yield from self._synced(home.begin_checkpoint(), home.end_checkpoint)

    def _swapped(self, log: PartitionLog) -> Work[None]:
        """Continue a swap to its end. After a StorageError the next round, or the next retention pass, continues it."""
        while log.replacer.is_under_way:  # if the log is closed meanwhile, the close completes the swap
            job = log.replacer.step()
            if job is not None:
                yield from self._synced(job)

    def _check(self, log: PartitionLog) -> None:
        if not log.config.is_compacted:
            raise Discarded("its cleanup.policy is not compact any more")
        if self._around.is_moving(self.key):
            raise Discarded("it is moved to another data directory")

    def _synced(
        self, job: SyncJob | None, end: Callable[[SyncJob, StorageError | None], None] | None = None
    ) -> Work[None]:
        """Run a sync job in a thread and end it, even if its caller does not wait any more."""
        if job is None:
            return
        running = self._around.run(job, end)
        yield running
        failure = running.result()
        if failure is not None:
            raise failure

    def _cleaned(self, result: CleanResult, bytes_before: int) -> Cleaned:
        stats = result.stats
        return Cleaned(
            *self.key,
            bytes_before=bytes_before,
            bytes_after=sum(group.log_bytes for group in result.groups),
            records_before=stats.messages_read,
            records_after=stats.messages_written,
            buffer_utilization=stats.map_fullness,
            seconds=self._around.stopwatch() - self._begun_s,
            first_dirty_offset=result.end_offset,
        )
