"""Files and directories that are out of use and removed some time later, when nobody reads them any more.

Knows names and due times; the clock is the caller's. What is not removed when the process ends is found by its name
(`*.deleted`, `*-delete`) at the next start.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk_file import DiskFile


class _Doomed(NamedTuple):
    directory: Directory
    names: list[str] | None
    files: list[DiskFile]
    before_last: Callable[[], bool] | None
    has_failed: bool = False

    def remove(self) -> bool:
        """Whether something else had to be synced first."""
        for file in self.files:
            file.close()
        if self.names is None:
            parent = self.directory.parent
            if parent is not None and parent.is_dirty:
                parent.sync()  # or a power cut could bring the name back, of a directory with half of its files
            self.directory.remove_files()
            has_synced = self._settle()
            self.directory.remove_tree()
            return has_synced
        for name in self.names[:-1]:
            self.directory.remove(name)
        has_synced = self._settle()
        for name in self.names[-1:]:
            self.directory.remove(name)
        return has_synced

    def _settle(self) -> bool:
        return self.before_last is not None and self.before_last()


class Deletions:
    """What to remove when. One for a data directory."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, _Doomed]] = []
        self._count = 0  # orders what is due at the same time, which is never compared

    def __len__(self) -> int:
        return len(self._due)

    def schedule(
        self,
        due_ms: int,
        directory: Directory,
        names: Iterable[str] | None = None,
        files: Iterable[DiskFile] = (),
        before_last: Callable[[], bool] | None = None,
    ) -> None:
        """Remove the files `names` of a directory at `due_ms`, or, without names, the directory and all in it.

        The directory may be renamed or removed meanwhile. `files` may still be read, and so be open, until then: they
        are closed first, since a removed file keeps its room on the disk while it is open. `before_last` makes durable
        what a start reads out of the names, before the last of them (of a directory: its own) goes, and says whether
        that took a sync. StorageError leaves that one, and most of the room is free.
        """
        self._add(due_ms, _Doomed(directory, None if names is None else list(names), list(files), before_last))

    def _add(self, due_ms: int, doomed: _Doomed) -> None:
        heapq.heappush(self._due, (due_ms, self._count, doomed))
        self._count += 1

    def hurry(self, now_ms: int) -> bool:
        """Nothing waits for its time, since the room is wanted: whether anything is due now.

        Who still reads a file that goes is told FileRemoved. What could not be removed waits for its next turn.
        """
        if any(due_ms > now_ms and not doomed.has_failed for due_ms, _, doomed in self._due):
            self._due = [
                (due_ms if doomed.has_failed else min(due_ms, now_ms), count, doomed)
                for due_ms, count, doomed in self._due
            ]
            heapq.heapify(self._due)
        return bool(self._due) and self._due[0][0] <= now_ms

    def remove_due(self, now_ms: int, at_most: int = sys.maxsize) -> int | None:
        """Remove what is due, `at_most` so many entries; returns when the next is due, None if nothing waits.

        One that took a sync counts as many.

        StorageError if something could not be removed; it stays on the list, and is due again in a minute.
        """
        while self._due and self._due[0][0] <= now_ms and at_most > 0:
            _, _, doomed = heapq.heappop(self._due)
            try:
                at_most -= _LIKE_A_SYNC if doomed.remove() else 1
            except BaseException:
                self._add(now_ms + RETRY_MS, doomed._replace(has_failed=True))
                raise
        return self._due[0][0] if self._due else None


_LIKE_A_SYNC = 10  # removals take about as long
RETRY_MS = 60_000  # a file that cannot be removed now may be later
