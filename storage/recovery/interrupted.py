"""Finishing what the last stop interrupted: deletions, cleanings and swaps of segments that have half of their files.

Knows names; cases.py says which are removed and which renamed (K to O). Every removal is durable before a rename, and
that of a segment's indexes before that of its log: indexes without a log are taken for a log that was lost (case Y).
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.protocol.files.names import FileKind, FileState, SegmentFile, parse_segment_file
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.directory import Directory
from barnabas.storage.recovery.cases import Leftovers, finished_swaps, half_deleted, orphaned_indexes, unfinished_files
from barnabas.storage.recovery.opening import Opening
from barnabas.storage.recovery.report import Report
from barnabas.storage.recovery.segment import SegmentWalk
from barnabas.storage.segment.segment import Segment


class Interrupted:
    """One partition's directory, before anything in it is used."""

    def __init__(self, directory: Directory, config: LogConfig, now_ms: int, report: Report) -> None:
        self._directory = directory
        self._config = config
        self._now_ms = now_ms
        self._report = report

    def finish(self) -> Opening[list[str]]:
        """Remove and rename; returns the names in the directory then."""
        names = self._clear_up(self._directory.names(), half_deleted)
        names = self._clear_up(names, unfinished_files)
        swapped = [file for file in map(parse_segment_file, names) if file and file.state is FileState.SWAP]
        ends: dict[int, int] = {}
        for file in swapped:
            if file.kind is FileKind.LOG:
                ends[file.base_offset] = yield from self._end_of(file)
        names = self._clear_up(names, lambda names: finished_swaps(names, ends))
        return self._clear_up(names, orphaned_indexes)

    def _clear_up(self, names: list[str], find: Callable[[list[str]], Leftovers]) -> list[str]:
        """Remove and rename what `find` finds among `names`; returns the names then."""
        leftovers = find(names)
        self._report.met(leftovers.letters)
        logs = [name for name in leftovers.removals if name.endswith(FileKind.LOG.value)]
        for names_removed in ([name for name in leftovers.removals if name not in logs], logs):
            for name in names_removed:
                self._directory.remove(name)
            if names_removed:
                self._directory.sync()  # before what a power cut might keep while it brings these back
        for source, target in leftovers.renames:
            self._directory.rename(source, target)
        return self._directory.names() if leftovers.letters else names

    def _end_of(self, file: SegmentFile) -> Opening[int]:
        segment = Segment(self._directory, file.base_offset, self._config, self._now_ms)
        segment.log = self._directory.open(file.name)
        segment.size = segment.log.size()
        walk = SegmentWalk(segment, 0, self._config.max_message_bytes)
        try:
            yield from walk.to_end()
        finally:
            segment.log.close()
        return walk.next_offset
