"""Replacing segments by their compacted ones, in steps that a crash may interrupt anywhere.

Knows the names of files, and the order in which they change (as in Kafka, with a sync where the next change relies on
the previous one):

    1. `.cleaned` becomes `.swap`: from now on recovery finishes the replacement, before it undoes it
    2. the replaced files become `.deleted`; their readers can continue
    3. `.swap` is removed from the names, and the log has the new segment instead of the old ones

One group of segments after another, from the oldest on: recovery takes a `.swap` after a `.cleaned` for half of a
split. So before the first step all other `.cleaned` files are removed. The old files are closed and removed
file.delete.delay.ms later, when no response reads from them any more.

Invariants: a replaced file is removed only when its replacement is on the disk, with its name; the log has
either all old segments of a group or the new one, whenever other code runs.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from typing import NamedTuple

from barnabas.protocol.files.names import FileKind, FileState, SegmentFile, parse_segment_file, segment_file
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.deletion import Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.sync_job import RemovalJob, SyncJob
from barnabas.storage.log.segments import Segments
from barnabas.storage.producers.snapshots import ProducerSnapshots
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segment_checksums import SegmentChecksums


class Replaced(NamedTuple):
    """The source segments of one `.cleaned` segment, with their sizes: it has the base offset of the first."""

    base_offset: int
    sources: tuple[tuple[int, int], ...]
    """(base offset, size in bytes) of each, in order."""


Replacing = Generator[SyncJob, None, None]
"""Yields jobs that must be run before it continues, in any thread. StorageError."""


class _Swap:
    """One replacement and its progress."""

    __slots__ = ("files", "group", "now_ms", "snapshots", "to_rename")

    def __init__(self, group: Replaced, now_ms: int) -> None:
        self.group = group
        self.now_ms = now_ms
        self.files: list[SegmentFile] | None = None
        self.to_rename: list[tuple[str, str]] = []
        self.snapshots: list[str] = []  # renamed to `.deleted`, waiting to be removed


class SegmentsGone(Exception):
    """The compacted segments are not in the log any more, or have changed."""


class Replacer:
    """Replaces segments of one log. At most one replacement at a time; between its steps the log is used as usual."""

    __slots__ = ("_config", "_deletions", "_directory", "_segments", "_snapshots", "_sums", "_swaps", "_under_way")

    def __init__(
        self,
        directory: Directory,
        segments: Segments,
        snapshots: ProducerSnapshots,
        sums: SegmentChecksums,
        deletions: Deletions,
        config: LogConfig,
    ) -> None:
        self._directory = directory
        self._sums = sums
        self._segments = segments
        self._snapshots = snapshots
        self._deletions = deletions
        self._under_way: Replacing | None = None
        self._swaps: list[_Swap] = []
        self.configure(config)

    def configure(self, config: LogConfig) -> None:
        """Apply these settings from now on."""
        self._config = config

    @property
    def is_under_way(self) -> bool:
        """Whether a replacement is in progress: segments may only be added to the log."""
        return self._under_way is not None

    def begin(self, groups: Sequence[Replaced], now_ms: int) -> None:
        """Check that the log still has these segments, and prepare for the first `step`. SegmentsGone."""
        assert not self.is_under_way, f"{self._directory.path}: segments are being replaced already"
        for group in groups:
            self._sources(group)
        self._swaps = [_Swap(group, now_ms) for group in groups]
        self._under_way = self._replace()

    def step(self) -> SyncJob | None:
        """Continue; return the job to run, and end, before the next step. None: it is finished. StorageError.

        After a failure the next step retries the failed part. A start finishes an incomplete one, too.
        """
        assert self._under_way is not None
        try:
            job = next(self._under_way, None)
        except BaseException:
            self._under_way = self._replace()
            raise
        if job is None:
            self._under_way = None
        return job

    def finish(self) -> None:
        """Run all remaining steps at once: the log is about to be closed. StorageError."""
        while self._under_way is not None:
            job = self.step()
            if job is not None:
                job.run_here()

    def give_up(self) -> None:
        """Stop: the log is not used any more. The next start finishes the rest."""
        self._under_way = None

    # --- steps ---

    def _replace(self) -> Replacing:
        """Run all remaining steps: those done before a failure are not repeated."""
        wanted = {swap.group.base_offset for swap in self._swaps}
        others = removal_of_cleaned(self._directory, wanted)
        if others is not None:  # left by an earlier run
            yield others
        while self._swaps:
            swap = self._swaps[0]
            if swap.files is None:
                swap.files = self._cleaned(swap.group)
                swap.to_rename = [(file.name, file._replace(state=FileState.SWAP).name) for file in swap.files]
                swap.to_rename += [
                    (file._replace(state=FileState.SWAP).name, file._replace(state=FileState.LIVE).name)
                    for file in swap.files
                ]
            self._rename(swap, len(swap.files))
            yield self._synced_names()
            gone = self._mark_deleted(swap)
            yield self._synced_names()
            self._rename(swap, 0)
            self._exchange(swap, gone)
            del self._swaps[0]
        yield self._synced_names()

    def _rename(self, swap: _Swap, left: int) -> None:
        """Rename files in order until `left` of them are left."""
        while len(swap.to_rename) > left:
            self._directory.rename(*swap.to_rename[0])
            del swap.to_rename[0]

    def _exchange(self, swap: _Swap, gone: list[str]) -> None:
        """Exchange the segments in the log: the files are in place."""
        new = Segment.open(self._directory, swap.group.base_offset, self._config, swap.now_ms, is_durable=True)
        new.txn_index.check()  # so that the number of entries is known when its row is written
        old = self._sources(swap.group)
        self._segments.replace(old, [new])
        self._sums.forget(new)  # it may have the same size and another transaction index
        due_ms = swap.now_ms + self._config.file_delete_delay_ms
        self._deletions.schedule(due_ms, self._directory, gone, [segment.log for segment in old])

    def _sources(self, group: Replaced) -> list[Segment]:
        """Return the segments of the log that a group was made of. SegmentsGone if they have changed."""
        bases = [base_offset for base_offset, _ in group.sources]
        first = self._segments.index_of(group.base_offset)
        found = list(self._segments.all[first : first + len(bases)])
        is_same = [(segment.base_offset, segment.size) for segment in found] == list(group.sources)
        if not is_same or found[-1] is self._segments.active:
            raise SegmentsGone(f"{self._directory.path}: segments {bases} are not in the log any more as they were")
        return found

    def _cleaned(self, group: Replaced) -> list[SegmentFile]:
        """Return the `.cleaned` files, the log first."""
        found = [file for file in map(parse_segment_file, self._directory.names()) if file is not None]
        mine = [file for file in found if file[:1] == (group.base_offset,) and file.state is FileState.CLEANED]
        if not any(file.kind is FileKind.LOG for file in mine):
            raise SegmentsGone(f"{self._directory.path}: there is no {_cleaned_log(group.base_offset)}")
        return sorted(mine, key=lambda file: file.kind is not FileKind.LOG)

    def _mark_deleted(self, swap: _Swap) -> list[str]:
        """Rename the replaced files; return the new names. Producer snapshots stay where a segment still begins."""
        names: list[str] = []
        for segment in self._sources(swap.group):
            names += segment.mark_deleted()
            if segment.base_offset != swap.group.base_offset:
                snapshot = self._snapshots.mark_deleted(segment.base_offset)
                swap.snapshots += [snapshot] if snapshot else []
        return names + swap.snapshots

    def _synced_names(self) -> SyncJob:
        return SyncJob(self._directory.disk, directories=[self._directory])


def removal_of_cleaned(directory: Directory, but: Collection[int] = ()) -> RemovalJob | None:
    """Return a job that removes `.cleaned` files but those of these base offsets; None without any. StorageError."""
    found = [file for file in map(parse_segment_file, directory.names()) if file is not None]
    names = [file.name for file in found if file.state is FileState.CLEANED and file.base_offset not in but]
    return RemovalJob(directory, names) if names else None


def _cleaned_log(base_offset: int) -> str:
    return segment_file(base_offset, FileKind.LOG, FileState.CLEANED)
