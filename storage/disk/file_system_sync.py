"""One call that makes many files durable: `syncfs`, for file systems where it does the same as a sync of each file.

Knows Linux and a descriptor; not the content of the files. docs/decisions/0101 explains the file systems, the kernel
version, and why one file is synced after the call.

Invariants: when `sync` returns, everything written before to the file system is on the disk, and no write of it failed
since the descriptor was opened. So the descriptor is opened with the data directory and stays open: one that is opened
later may miss an earlier failure that was reported to another program meanwhile.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable, Sequence
from typing import Protocol

_KERNEL_MIN = (5, 17)  # the first that reports the error of the file system's own part of a syncfs
_FILE_SYSTEMS = frozenset({0xEF53, 0x58465342})  # ext4 and XFS, as statfs numbers them
_STATFS_BYTES = 256  # more than any system's struct statfs; the first field is the number


class Syncable(Protocol):
    """An open file that can be synced."""

    def sync(self) -> None:
        """Make everything written so far survive a power cut."""


class CommonSync(Protocol):
    """A sync of many files of one directory tree in one call."""

    def is_usable(self) -> bool:
        """Return whether the system supports it. Called in the syncing thread: the first call may take milliseconds."""

    def covers(self, path: str) -> bool:
        """Return whether files there are synced with the rest: a directory may be a link to another file system."""

    def sync(self, files: Sequence[Syncable], paths: Sequence[str]) -> None:
        """Make open files, and files and directories by their paths, survive a power cut. At least one is open.

        A missing path is skipped.
        """

    def close(self) -> None:
        """Close the descriptor."""


class FileSystemSync:
    """`syncfs` on the file system that a directory is on. Also writes the data of other programs there."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._device = os.fstat(self._descriptor).st_dev
        self._call: Callable[[], None] | None = None
        self._was_looked_up = False

    def is_usable(self) -> bool:
        if not self._was_looked_up:
            self._call, self._was_looked_up = _bound_syncfs(self._descriptor), True
        return self._call is not None

    def covers(self, path: str) -> bool:
        try:
            return os.stat(path).st_dev == self._device
        except OSError:
            return False

    def sync(self, files: Sequence[Syncable], paths: Sequence[str]) -> None:
        assert self._call is not None, "is_usable was not checked before"
        self._call()
        files[0].sync()  # flushes the drive's cache, in which these file systems may leave their last writes

    def close(self) -> None:
        os.close(self._descriptor)


def kernel_has_it(release: str) -> bool:
    """Return whether a Linux kernel of this release reports every failure."""
    numbers = release.split(".")[:2]
    return len(numbers) == 2 and all(map(str.isdigit, numbers)) and (int(numbers[0]), int(numbers[1])) >= _KERNEL_MIN


def _bound_syncfs(descriptor: int) -> Callable[[], None] | None:
    """Return the C library's function for this descriptor, which releases the GIL; None if it is not usable here."""
    try:
        import ctypes  # some milliseconds that a start need not wait for

        library = ctypes.CDLL(None, use_errno=True)
        syncfs, fstatfs = library.syncfs, library.fstatfs
    except (ImportError, OSError, AttributeError):
        return None  # a Python without ctypes, or a C library without the call
    if syncfs(-1) == 0 or ctypes.get_errno() != errno.EBADF:
        return None  # a sandbox that does not permit the call
    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if fstatfs(descriptor, found) != 0 or struct.unpack_from("l", found)[0] not in _FILE_SYSTEMS:
        return None

    def call() -> None:
        if syncfs(descriptor) != 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))

    return call
