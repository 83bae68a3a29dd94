"""What can go wrong with the disk. Refusals of a client's batch: storage/refusals.py; broken bytes: DecodeError.

Every message says where and what. To a client each StorageError is KAFKA_STORAGE_ERROR.
"""

from __future__ import annotations

import errno

_NO_ROOM = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
WHAT_TO_DO = "Restore the file, or stop the broker: `barnabas log repair` says what can be kept"


class StorageError(Exception):
    """The disk did not do what it was asked. Nothing of the failed change is left, unless the directory is offline.

    `path` names the file or directory, `errno` is the operating system's number or 0.
    """

    def __init__(self, path: str, reason: str, errno: int = 0) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.errno = errno


class DirectoryOffline(StorageError):
    """The data directory failed earlier and is not used again before a restart."""


class DirectoryFull(StorageError):
    """There was no room for what was to be written: on the file system, in a quota, or for one more name."""


class SyncFailed(StorageError):
    """What was written may or may not survive a power cut. The data directory goes offline."""


class FileRemoved(StorageError):
    """The file was deleted (by retention, or with its topic) while somebody still held a slice of it."""


class CorruptFile(StorageError):
    """A file whose content cannot be what it has to be, and which nothing rebuilds. Its message says what to do."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, f"{reason}. {WHAT_TO_DO}")
        self.what = reason
        """The reason without what to do."""


class LockedError(StorageError):
    """Another process uses the data directory. `pid` is its process id, or None where that cannot be known."""

    def __init__(self, path: str, pid: int | None) -> None:
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(path, f"{holder} is using this data directory")
        self.pid = pid


class NotADataDirectory(StorageError):
    """The directory holds something else than a Kafka data directory of this node."""


def from_os_error(path: str, action: str, error: OSError) -> StorageError:
    """The StorageError for a call that failed: `cannot write (disk full)` and the like."""
    if error.errno == errno.ENOENT:
        return FileRemoved(path, f"cannot {action}: it does not exist", errno.ENOENT)
    kind = DirectoryFull if error.errno in _NO_ROOM else StorageError
    return kind(path, f"cannot {action}: {error.strerror or error}", error.errno or 0)
