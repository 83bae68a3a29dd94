"""The one call that syncs many files, on the file system in memory: it syncs the named files alone.

A real one writes down everything, so a test would not notice a file that was forgotten. Each file and each directory is
a separate change, in no order: the power may be cut between two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from barnabas.storage.disk.file_system_sync import Syncable

if TYPE_CHECKING:
    from tests.support.files.memory_files import MemoryFiles


class MemoryCommonSync:
    """Of a directory, which only names the call."""

    def __init__(self, files: MemoryFiles, path: str) -> None:
        self._files, self._path = files, path
        self.elsewhere: set[str] = set()  # directories that are links to another file system

    def is_usable(self) -> bool:
        return True

    def covers(self, path: str) -> bool:
        return path not in self.elsewhere

    def sync(self, files: Sequence[Syncable], paths: Sequence[str]) -> None:
        assert files, "the real one syncs one of the open files after the call"
        self._files._call("sync_together", self._path)
        syncs = [file.sync for file in files] + [partial(self._sync_path, path) for path in paths]
        self._files.random.shuffle(syncs)
        for sync in syncs:
            sync()

    def close(self) -> None:
        """There is no descriptor."""

    def _sync_path(self, path: str) -> None:
        try:
            self._files.sync_directory(path)
        except FileNotFoundError:
            pass  # it was removed: nothing to sync
        except NotADirectoryError:
            file = self._files.open(path)
            file.sync()
            file.close()
