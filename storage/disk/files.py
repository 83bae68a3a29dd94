"""The interface to the operating system's files. Everything here raises OSError; disk.py converts the errors.

`Files` is the interface that storage uses, `RealFiles` is the real file system, tests use one that loses unsynced data
(tests/support/files/memory_files.py). Paths are strings. A power cut preserves the POSIX minimum:

- bytes are safe once the file is synced, and not before;
- a name (created, renamed, removed) is safe once its directory is synced, and not before; a rename is one step.

Calls that not every system has are behind `Capabilities`; each has a portable fallback and is tested switched off.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple, Protocol

from barnabas.storage.disk.file_lock import Lock, LockHeld, take_lock
from barnabas.storage.disk.file_system_sync import CommonSync, FileSystemSync, kernel_has_it

Buffer = bytes | bytearray | memoryview

__all__ = [
    "Buffer",
    "Capabilities",
    "CommonSync",
    "Entry",
    "File",
    "FileStat",
    "Files",
    "Lock",
    "LockHeld",
    "RealFiles",
    "Volume",
    "detect_capabilities",
    "raise_descriptor_limit",
]

_FILE_MODE = 0o644
_DIRECTORY_MODE = 0o755


class FileStat(NamedTuple):
    """Size in bytes and time of the last change, ms since the epoch."""

    size: int
    modified_ms: int


class Volume(NamedTuple):
    """The space of a file system, in bytes: in total, and available to this process."""

    total_bytes: int
    usable_bytes: int


class Entry(NamedTuple):
    """A name in a directory."""

    name: str
    is_directory: bool


class Capabilities(NamedTuple):
    """System calls that may be missing. False selects the portable way."""

    positional_io: bool = True  # pread and pwrite; else seek, then read or write
    data_sync: bool = True  # fdatasync; else fsync
    full_sync: bool = False  # F_FULLFSYNC, without which macOS leaves data in the drive's cache; else fsync
    directory_sync: bool = True  # a directory can be opened and synced; else its names cannot be synced
    record_lock: bool = True  # POSIX record locks, which Java's FileChannel.tryLock takes too; else an exclusive file
    lock_owner: bool = True  # F_GETLK names the holder of a lock; else the pid written in the file does
    vectored_io: bool = True  # preadv; else what was read is copied
    volume_stat: bool = True  # statvfs; else shutil.disk_usage, which knows Windows too
    common_sync: bool = False  # syncfs that reports every failure; else each file is synced separately


def detect_capabilities() -> Capabilities:
    """Return the capabilities of this system."""
    try:
        import fcntl
    except ImportError:
        fcntl = None  # type: ignore[assignment]  # because the module is missing on Windows
    return Capabilities(
        positional_io=hasattr(os, "pwrite"),
        data_sync=hasattr(os, "fdatasync"),
        full_sync=hasattr(fcntl, "F_FULLFSYNC"),
        directory_sync=os.name == "posix",
        record_lock=fcntl is not None,
        lock_owner=sys.platform == "linux" and sys.maxsize > 2**32,
        vectored_io=hasattr(os, "preadv"),
        volume_stat=hasattr(os, "statvfs"),
        common_sync=sys.platform == "linux" and kernel_has_it(os.uname().release),
    )


class File(Protocol):
    """An open file."""

    def pread(self, size: int, position: int, /) -> bytes:
        """Return up to `size` bytes from `position`; fewer at the end of the file or, rarely, before it."""

    def pread_into(self, buffer: memoryview, position: int, /) -> int:
        """Read from `position` into the buffer; return the number of bytes, which may be smaller as in `pread`."""

    def pwrite(self, data: Buffer, position: int, /) -> int:
        """Write from `position` on; return the number of bytes written, which may be fewer than given."""

    def size(self) -> int:
        """Return the bytes in the file."""

    def truncate(self, size: int) -> None:
        """Truncate the file to `size` bytes."""

    def set_modified_ms(self, modified_ms: int) -> None:
        """Set the time of the last change, ms since the epoch: this file replaces others of that age."""

    def sync(self) -> None:
        """Make everything written so far survive a power cut."""

    def close(self) -> None:
        """Close the descriptor. This does not make data durable."""


class Files(Protocol):
    """A file system."""

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        """Open for reading and writing, or for reading; `create` makes an empty file if there is none."""

    def stat(self, path: str) -> FileStat:
        """Return the size and the time of the last change of a file."""

    def entries(self, path: str) -> list[Entry]:
        """Return the entries of a directory, in no order."""

    def volume(self, path: str) -> Volume:
        """Return the space of the file system that `path` is on."""

    def mkdir(self, path: str) -> None:
        """Create one directory; FileExistsError if the name is taken."""

    def rename(self, source: str, target: str) -> None:
        """Rename a file or a directory; a file at `target` is replaced in the same step."""

    def remove(self, path: str) -> None:
        """Remove a file."""

    def rmdir(self, path: str) -> None:
        """Remove an empty directory."""

    def sync_directory(self, path: str) -> None:
        """Make the names in a directory survive a power cut."""

    def common_sync(self, path: str) -> CommonSync | None:
        """Return a sync for many files below the directory `path`, from now on; None without such a call."""

    def lock(self, path: str) -> Lock:
        """Take the exclusive lock on a file, which is created if missing. LockHeld, at once, if another holds it."""


class RealFiles:
    """The operating system's files."""

    def __init__(self, capabilities: Capabilities | None = None) -> None:
        self.capabilities = capabilities or detect_capabilities()

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        flags = os.O_RDONLY if read_only else os.O_RDWR | (os.O_CREAT if create else 0)
        flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags, _FILE_MODE)
        if self.capabilities.positional_io:
            return RealFile(descriptor, self.capabilities)
        return SeekingFile(descriptor, self.capabilities)

    def stat(self, path: str) -> FileStat:
        found = os.stat(path)
        return FileStat(found.st_size, found.st_mtime_ns // 1_000_000)

    def entries(self, path: str) -> list[Entry]:
        with os.scandir(path) as found:
            return [Entry(entry.name, entry.is_dir()) for entry in found]

    def volume(self, path: str) -> Volume:
        if self.capabilities.volume_stat:
            found = os.statvfs(path)
            return Volume(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)
        from shutil import disk_usage  # imported here, since it brings the archive formats with it

        usage = disk_usage(path)
        return Volume(usage.total, usage.free)

    def mkdir(self, path: str) -> None:
        os.mkdir(path, _DIRECTORY_MODE)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.remove(path)

    def rmdir(self, path: str) -> None:
        os.rmdir(path)

    def sync_directory(self, path: str) -> None:
        if not self.capabilities.directory_sync:
            return
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def common_sync(self, path: str) -> CommonSync | None:
        return FileSystemSync(path) if self.capabilities.common_sync else None

    def lock(self, path: str) -> Lock:
        wanted = self.capabilities
        return take_lock(path, record_lock=wanted.record_lock, lock_owner=wanted.lock_owner)


class RealFile:
    """A file descriptor, read and written at given positions."""

    __slots__ = ("_capabilities", "_descriptor")

    def __init__(self, descriptor: int, capabilities: Capabilities) -> None:
        self._descriptor = descriptor
        self._capabilities = capabilities

    def pread(self, size: int, position: int, /) -> bytes:
        return os.pread(self._descriptor, size, position)

    def pread_into(self, buffer: memoryview, position: int, /) -> int:
        if self._capabilities.vectored_io:
            return os.preadv(self._descriptor, [buffer], position)
        return copy_into(buffer, self.pread(len(buffer), position))

    def pwrite(self, data: Buffer, position: int, /) -> int:
        return os.pwrite(self._descriptor, data, position)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def set_modified_ms(self, modified_ms: int) -> None:
        if os.utime in os.supports_fd:  # not on Windows, where the file keeps the time at which it was written
            os.utime(self._descriptor, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def sync(self) -> None:
        if self._capabilities.full_sync:
            import fcntl

            fcntl.fcntl(self._descriptor, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined, unused-ignore]  # macOS only
        elif self._capabilities.data_sync:
            os.fdatasync(self._descriptor)
        else:
            os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class SeekingFile(RealFile):
    """A RealFile for a system without positional reads and writes. One thread at a time, as all of storage."""

    __slots__ = ()

    def pread(self, size: int, position: int, /) -> bytes:
        os.lseek(self._descriptor, position, os.SEEK_SET)
        return os.read(self._descriptor, size)

    def pwrite(self, data: Buffer, position: int, /) -> int:
        os.lseek(self._descriptor, position, os.SEEK_SET)
        return os.write(self._descriptor, data)


def copy_into(buffer: memoryview, data: bytes) -> int:
    """Copy bytes to the start of the buffer; return their number."""
    count = len(data)
    buffer[:count] = data
    return count


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files to the hard one; return the new limit (256 if it is unknown)."""
    try:
        import resource
    except ImportError:
        return 256
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (ValueError, OSError):
            pass  # macOS raises this when the hard limit is unlimited: the soft limit stays
    return soft if soft != resource.RLIM_INFINITY else 1 << 20
