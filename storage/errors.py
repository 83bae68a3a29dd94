"""The errors of the disk. Refusals of a client's batch: storage/refusals.py; damaged bytes: DecodeError.

Every message says where the error is and what it is. A client gets KAFKA_STORAGE_ERROR for each StorageError.
"""

from __future__ import annotations

import errno

_NO_ROOM = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
WHAT_TO_DO = "Restore the file, or stop the broker: `barnabas log repair` shows what can be saved"


class StorageError(Exception):
    """A disk operation failed. Nothing of the failed change is left, unless the directory is offline.

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
    """A write failed for lack of space: on the file system, in a quota, or for one more name."""


class SyncFailed(StorageError):
    """A sync failed: written data may not survive a power cut. The data directory goes offline."""


class FileRemoved(StorageError):
    """The file was deleted (by retention, or with its topic) while a reader still held a slice of it."""


class CorruptFile(StorageError):
    """A file whose content is invalid, and which cannot be rebuilt. The message says what to do."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, f"{reason}. {WHAT_TO_DO}")
        self.what = reason
        """The reason without the advice."""


class LockedError(StorageError):
    """Another process uses the data directory. `pid` is its process id, or None if that is unknown."""

    def __init__(self, path: str, pid: int | None) -> None:
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(path, f"{holder} is using this data directory")
        self.pid = pid


class NotADataDirectory(StorageError):
    """The directory is not a Kafka data directory of this node."""


def from_os_error(path: str, action: str, error: OSError) -> StorageError:
    """Return the StorageError for a system call that failed: `cannot write (disk full)` and the like."""
    if error.errno == errno.ENOENT:
        return FileRemoved(path, f"cannot {action}: it does not exist", errno.ENOENT)
    kind = DirectoryFull if error.errno in _NO_ROOM else StorageError
    return kind(path, f"cannot {action}: {error.strerror or error}", error.errno or 0)
