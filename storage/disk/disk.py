# compiled: mypyc
"""The health of one data directory, its free space, and limits of its open files and index memory.

Knows no names; directory.py does. With disk_file.py, small_file.py and sync_job.py these are the only users of
files.py, and they raise only StorageError.

Theory of operation: a failed sync takes the whole directory offline: the content of the page cache is no longer known
(a second fsync after a failed one may succeed without having written). From then on every call raises
DirectoryOffline, and nothing is synced again before a restart. The caller handles a failed write or read; the
directory stays online. The space monitor is notified of each call that failed for lack of space, and sets whether the
directory is full; the writers decide which writes wait then (docs/decisions/0122).
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.storage.disk.eviction import EvictionPool
from barnabas.storage.disk.files import CommonSync, Files
from barnabas.storage.errors import DirectoryFull, DirectoryOffline, StorageError, from_os_error

INDEX_MEMORY_BYTES = 16 << 20  # of sealed segments' indexes in memory, for all partitions together
OPEN_FILES_MAX = 100  # unless the caller passes the process's limit


class Disk:
    """A data directory's health and its open files."""

    def __init__(self, files: Files, path: str, *, open_files_max: int = OPEN_FILES_MAX) -> None:
        self.files = files
        self.path = path
        self.offline_reason: str | None = None
        self.full_reason: str | None = None
        """The reason why producers' writes wait; None while there is space."""
        self.when_no_room: Callable[[DirectoryFull], None] | None = None
        """Called for every call that failed for lack of space, in the thread of that call."""
        self.descriptors = EvictionPool(open_files_max)
        self.indexes = EvictionPool(INDEX_MEMORY_BYTES)
        self.common_sync: CommonSync | None = None

    def check_online(self) -> None:
        """Raise DirectoryOffline if the directory failed earlier."""
        if self.offline_reason is not None:
            raise DirectoryOffline(self.path, f"offline until restart: {self.offline_reason}")

    def failure(self, path: str, action: str, error: OSError) -> StorageError:
        """Return the StorageError for a failed call, after notifying the space monitor. For any thread."""
        failure = from_os_error(path, action, error)
        self.note_full(failure)
        return failure

    def note_full(self, failure: StorageError) -> None:
        """Notify the space monitor if the failure is for lack of space."""
        if isinstance(failure, DirectoryFull) and self.when_no_room is not None:
            self.when_no_room(failure)

    def go_offline(self, reason: str) -> None:
        """Stop using the directory. The first reason stays; every open file is closed, so each user gets an error."""
        if self.offline_reason is None:
            self.offline_reason = reason
        self.descriptors.evict_all()

    def open_common_sync(self) -> None:
        """Prepare the common sync of many files, if the system supports it. StorageError."""
        try:
            self.common_sync = self.files.common_sync(self.path)
        except OSError as error:
            raise from_os_error(self.path, "open", error) from error

    def is_in_common_sync(self, path: str) -> bool:
        """Return whether files there can be synced with all others in one call."""
        return self.common_sync is not None and self.common_sync.covers(path)

    def close(self) -> None:
        """Close every file. Users may continue: files are reopened when used, and synced one by one."""
        self.descriptors.evict_all()
        if self.common_sync is not None:
            self.common_sync.close()
            self.common_sync = None
