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
from barnabas.storage.disk.files import CommonSync, Files
from barnabas.storage.errors import DirectoryOffline, from_os_error

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
        self.common_sync: CommonSync | None = None

    def check_online(self) -> None:
        """Raise DirectoryOffline if the directory failed earlier."""
        if self.offline_reason is not None:
            raise DirectoryOffline(self.path, f"offline until restart: {self.offline_reason}")

    def go_offline(self, reason: str) -> None:
        """Stop using the directory. The first reason stays; every open file is closed, so each user notices."""
        if self.offline_reason is None:
            self.offline_reason = reason
        self.descriptors.evict_all()

    def open_common_sync(self) -> None:
        """From now on many files can be synced at a time, where the system can. StorageError."""
        try:
            self.common_sync = self.files.common_sync(self.path)
        except OSError as error:
            raise from_os_error(self.path, "open", error) from error

    def is_in_common_sync(self, path: str) -> bool:
        """Whether what lies there can be synced with everything else in one call."""
        return self.common_sync is not None and self.common_sync.covers(path)

    def close(self) -> None:
        """Close every file. Their users may go on: files open themselves again, and are synced one by one."""
        self.descriptors.evict_all()
        if self.common_sync is not None:
            self.common_sync.close()
            self.common_sync = None
