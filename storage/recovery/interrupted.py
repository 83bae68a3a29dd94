"""Finishing interrupted work: deletions, cleanings and swaps of segments that have half of their files.

Knows names; recovery_decisions.py decides which are removed and which renamed (K to O). Every removal is durable before
a rename, and that of a segment's indexes before that of its log: indexes without a log indicate a lost log (case Y).
"""

from __future__ import annotations

from barnabas.protocol.files.names import FileKind, FileState, SegmentFile
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.sync_job import RemovalJob
from barnabas.storage.errors import FileRemoved
from barnabas.storage.recovery.first_listing import first_listing
from barnabas.storage.recovery.listing import Listing
from barnabas.storage.recovery.opening import Opening
from barnabas.storage.recovery.recovery_decisions import (
    Leftovers,
    finished_swaps,
    half_deleted,
    orphaned_indexes,
    unfinished_files,
)
from barnabas.storage.recovery.report import RecoveryReport
from barnabas.storage.recovery.segment_recovery import walk_to_end
from barnabas.storage.recovery.segment_walk import SegmentWalk
from barnabas.storage.segment.segment import Segment

AT_ONCE_MAX = 100  # files
AT_ONCE_BYTES_MAX = 16 << 20


class Interrupted:
    """The interrupted work in one partition's directory, finished before any file in it is used."""

    def __init__(self, directory: Directory, config: LogConfig, now_ms: int, report: RecoveryReport) -> None:
        self._directory = directory
        self._config = config
        self._now_ms = now_ms
        self._report = report

    def finish(self, found: Listing) -> Opening[Listing]:
        """Remove and rename files; return the new listing."""
        found = yield from self._clear_up(found, half_deleted(found))
        found = yield from self._clear_up(found, unfinished_files(found))
        ends: dict[int, int] = {}
        for file in found.others:
            if file.state is FileState.SWAP and file.kind is FileKind.LOG:
                ends[file.base_offset] = yield from self._end_of(file)
        found = yield from self._clear_up(found, finished_swaps(found, ends))
        return (yield from self._clear_up(found, orphaned_indexes(found)))

    def _clear_up(self, found: Listing, leftovers: Leftovers) -> Opening[Listing]:
        """Remove and rename these files; return the new listing."""
        self._report.add(leftovers.letters)
        logs = [name for name in leftovers.removals if name.endswith(FileKind.LOG.value)]
        for names_removed in ([name for name in leftovers.removals if name not in logs], logs):
            if not names_removed:
                continue
            job = RemovalJob(self._directory, names_removed)  # synced before changes that must not outlive it
            if self._takes_long(names_removed):
                yield job
            else:
                job.run_here()
        for source, target in leftovers.renames:
            self._directory.rename(source, target)
        return (yield from first_listing(self._directory))[0] if leftovers.letters else found

    def _takes_long(self, names: list[str]) -> bool:
        """Return whether to remove these in a thread. A few small files are removed at once."""
        return len(names) > AT_ONCE_MAX or sum(map(self._size_of, names)) > AT_ONCE_BYTES_MAX

    def _size_of(self, name: str) -> int:
        """Return the size, 0 for a file that is gone: on a full disk deleted files may be removed at any time."""
        try:
            return self._directory.size(name)
        except FileRemoved:
            return 0

    def _end_of(self, file: SegmentFile) -> Opening[int]:
        segment = Segment(self._directory, file.base_offset, self._config, self._now_ms)
        segment.log = self._directory.open(file.name)
        segment.size = segment.log.size()
        walk = SegmentWalk(segment, 0, self._config.max_message_bytes)
        try:
            yield from walk_to_end(walk)
        finally:
            segment.log.close()
        return walk.next_offset
