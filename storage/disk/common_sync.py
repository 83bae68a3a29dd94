"""One call that makes many files durable: `syncfs`, for the file systems on which it does what a sync of each would.

Knows Linux and a descriptor; nothing of what lies in the files. docs/decisions/0101 says why these file systems, why
this kernel, and why one file is synced after the call.

Invariants: when `sync` returns, everything written before to the file system is on the disk, and no write of it failed
since the descriptor was opened. So the descriptor is opened with the data directory and kept: one that is opened later
may not be told of an earlier failure that another program asked for meanwhile.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable, Sequence
from typing import Protocol

_KERNEL_MIN = (5, 17)  # the first that tells what the file system's own part of a syncfs failed with
_FILE_SYSTEMS = frozenset({0xEF53, 0x58465342})  # ext4 and XFS, as statfs numbers them
_STATFS_BYTES = 256  # more than any system's struct statfs; the first field is the number


class Syncable(Protocol):
    """An open file, as far as it is synced."""

    def sync(self) -> None:
        """Make everything written so far survive a power cut."""


class CommonSync(Protocol):
    """Makes many files of one directory tree durable in one call."""

    def is_usable(self) -> bool:
        """Whether the system can. Asked in the thread that will sync: the first answer may take milliseconds."""

    def covers(self, path: str) -> bool:
        """Whether what lies there is synced with the rest: a directory may be a link to another file system."""

    def sync(self, files: Sequence[Syncable], paths: Sequence[str]) -> None:
        """Make open files, and files and directories by their paths, survive a power cut. At least one is open.

        A path that is gone needs nothing.
        """

    def close(self) -> None:
        """Give the descriptor back."""


class FileSystemSync:
    """`syncfs` on the file system that a directory is on. Writes down what others have written there, too."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._device = os.fstat(self._descriptor).st_dev
        self._call: Callable[[], None] | None = None
        self._was_asked = False

    def is_usable(self) -> bool:
        if not self._was_asked:
            self._call, self._was_asked = _bound_syncfs(self._descriptor), True
        return self._call is not None

    def covers(self, path: str) -> bool:
        try:
            return os.stat(path).st_dev == self._device
        except OSError:
            return False

    def sync(self, files: Sequence[Syncable], paths: Sequence[str]) -> None:
        assert self._call is not None, "asked before whether it is usable"
        self._call()
        files[0].sync()  # empties the drive's cache, in which these file systems may leave what they wrote last

    def close(self) -> None:
        os.close(self._descriptor)


def kernel_has_it(release: str) -> bool:
    """Whether a Linux kernel of this release tells every failure."""
    numbers = release.split(".")[:2]
    return len(numbers) == 2 and all(map(str.isdigit, numbers)) and (int(numbers[0]), int(numbers[1])) >= _KERNEL_MIN


def _bound_syncfs(descriptor: int) -> Callable[[], None] | None:
    """The C library's function on this descriptor, which lets other threads run; None if it will not do here."""
    try:
        import ctypes  # some milliseconds that a start need not wait for

        library = ctypes.CDLL(None, use_errno=True)
        syncfs, fstatfs = library.syncfs, library.fstatfs
    except (ImportError, OSError, AttributeError):
        return None  # a Python without ctypes, or a C library without the call
    if syncfs(-1) == 0 or ctypes.get_errno() != errno.EBADF:
        return None  # a sandbox that does not let us make the call
    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if fstatfs(descriptor, found) != 0 or struct.unpack_from("l", found)[0] not in _FILE_SYSTEMS:
        return None

    def call() -> None:
        if syncfs(descriptor) != 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))

    return call
