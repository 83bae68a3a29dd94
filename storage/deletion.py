"""Files and directories that are out of use and removed some time later, when nobody reads them any more.

Knows names and due times; the clock is the caller's. What is not removed when the process ends is found by its name
(`*.deleted`, `*-delete`) at the next start.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from storage.directory import Directory


class Deletions:
    """What to remove when. One for a data directory."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, Directory, list[str] | None]] = []
        self._count = 0  # orders what is due at the same time, so that directories are never compared

    def __len__(self) -> int:
        return len(self._due)

    def schedule(self, due_ms: int, directory: Directory, names: Iterable[str] | None = None) -> None:
        """Remove the files `names` of a directory at `due_ms`, or, without names, the directory and all in it.

        The directory may be renamed or removed meanwhile.
        """
        heapq.heappush(self._due, (due_ms, self._count, directory, None if names is None else list(names)))
        self._count += 1

    def remove_due(self, now_ms: int) -> int | None:
        """Remove what is due; returns when the next is, None if nothing waits.

        StorageError if something could not be removed; it stays on the list, last of those due now.
        """
        while self._due and self._due[0][0] <= now_ms:
            due_ms, _, directory, names = heapq.heappop(self._due)
            try:
                _remove(directory, names)
            except BaseException:
                self.schedule(due_ms + RETRY_MS, directory, names)
                raise
        return self._due[0][0] if self._due else None


RETRY_MS = 60_000  # a file that cannot be removed now may be later


def _remove(directory: Directory, names: list[str] | None) -> None:
    if names is None:
        directory.remove_tree()
        return
    for name in names:
        directory.remove(name)
