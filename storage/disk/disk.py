"""The health of one data directory, its room, and how much of it is open or in memory at a time.

Knows no names; directory.py does. With disk_file.py, small_file.py and sync_job.py these are the only users of
files.py, and what they raise is StorageError and nothing else.

Theory of operation: a failed sync takes the whole directory offline: what the page cache holds is no longer known (a
second fsync after a failed one may say "done" without having written). From then on every call raises DirectoryOffline,
and nothing is synced again before a restart. A failed write or read is the caller's to handle; the directory stays
online. Who watches the room is told of each call that found none, and says whether the directory is full; what is to
wait then is for those to decide who write (docs/decisions/0122).
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.storage.disk.eviction import EvictionPool
from barnabas.storage.disk.files import CommonSync, Files
from barnabas.storage.errors import DirectoryFull, DirectoryOffline, StorageError, from_os_error

INDEX_MEMORY_BYTES = 16 << 20  # of sealed segments' indexes kept in memory, all partitions together
OPEN_FILES_MAX = 100  # unless the caller knows the process's limit


class Disk:
    """A data directory's health and its open files."""

    def __init__(self, files: Files, path: str, *, open_files_max: int = OPEN_FILES_MAX) -> None:
        self.files = files
        self.path = path
        self.offline_reason: str | None = None
        self.full_reason: str | None = None
        """Why producers write nothing for now; None while there is room."""
        self.when_no_room: Callable[[DirectoryFull], None] | None = None
        """Told of every call that found no room, in whatever thread it was made."""
        self.descriptors = EvictionPool(open_files_max)
        self.indexes = EvictionPool(INDEX_MEMORY_BYTES)
        self.common_sync: CommonSync | None = None

    def check_online(self) -> None:
        """Raise DirectoryOffline if the directory failed earlier."""
        if self.offline_reason is not None:
            raise DirectoryOffline(self.path, f"offline until restart: {self.offline_reason}")

    def failure(self, path: str, action: str, error: OSError) -> StorageError:
        """The StorageError for a call that failed, after who watches the room was told. For any thread."""
        failure = from_os_error(path, action, error)
        self.note_full(failure)
        return failure

    def note_full(self, failure: StorageError) -> None:
        """The same for a failure that is known already."""
        if isinstance(failure, DirectoryFull) and self.when_no_room is not None:
            self.when_no_room(failure)

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
