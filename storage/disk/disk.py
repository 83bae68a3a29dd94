"""The health of one data directory, and how much of it is open or in memory at a time.

Knows no names; directory.py does. With disk_file.py, small_file.py and sync_job.py these are the only users of
files.py, and what they raise is StorageError and nothing else.

Theory of operation: a failed sync takes the whole directory offline: what the page cache holds is no longer known (a
second fsync after a failed one may say "done" without having written). From then on every call raises DirectoryOffline,
and nothing is synced again before a restart. A failed write or read is the caller's to handle; the directory stays
online.
"""

from __future__ import annotations

from barnabas.storage.disk.eviction import EvictionPool
from barnabas.storage.disk.files import Files
from barnabas.storage.errors import DirectoryOffline

INDEX_MEMORY_BYTES = 16 << 20  # of sealed segments' indexes kept in memory, all partitions together
OPEN_FILES_MAX = 100  # unless the caller knows the process's limit


class Disk:
    """A data directory's health and its open files."""

    def __init__(self, files: Files, path: str, *, open_files_max: int = OPEN_FILES_MAX) -> None:
        self.files = files
        self.path = path
        self.offline_reason: str | None = None
        self.descriptors = EvictionPool(open_files_max)
        self.indexes = EvictionPool(INDEX_MEMORY_BYTES)

    def check_online(self) -> None:
        """Raise DirectoryOffline if the directory failed earlier."""
        if self.offline_reason is not None:
            raise DirectoryOffline(self.path, f"offline until restart: {self.offline_reason}")

    def go_offline(self, reason: str) -> None:
        """Stop using the directory. The first reason stays; every open file is closed, so each user notices."""
        if self.offline_reason is None:
            self.offline_reason = reason
        self.descriptors.evict_all()

    def close(self) -> None:
        """Close every file. Their users may go on: files open themselves again."""
        self.descriptors.evict_all()
