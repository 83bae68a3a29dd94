"""The exclusive lock on a data directory's `.lock` file.

A POSIX record lock, because Java's FileChannel.tryLock takes the same: Kafka and Barnabas lock each other out. Two
properties of these locks are worked around here: they do not exclude the process that holds them (so this process has
a table of its locks), and closing *any* descriptor of the file releases the lock (so no other code opens it).

The holder's pid is read from the kernel where that is possible. It is also written into the file, for other systems;
Kafka leaves the file empty and ignores its content.
"""

from __future__ import annotations

import os
import struct
from typing import Protocol

_FLOCK = struct.Struct("@hhqqi")  # l_type, l_whence, l_start, l_len, l_pid on 64-bit Linux
_MODE = 0o644

_held: dict[tuple[int, int], int] = {}
"""(device, inode) of each locked file, and the locking process: a fork inherits this table but no lock."""


class LockHeld(OSError):
    """Another process holds the lock. `pid` is None if it is unknown."""

    def __init__(self, pid: int | None) -> None:
        super().__init__("locked")
        self.pid = pid


class Lock(Protocol):
    """A held lock on a file."""

    def release(self) -> None:
        """Remove the file and release the lock."""


class FileLock:
    """A lock that is held until `release`."""

    def __init__(self, path: str, descriptor: int, identity: tuple[int, int]) -> None:
        self._path = path
        self._descriptor = descriptor
        self._identity = identity

    def release(self) -> None:
        """Remove the file, then unlock it: a process that opened it before finds it gone and retries."""
        _held.pop(self._identity, None)
        try:
            os.remove(self._path)
        finally:
            os.close(self._descriptor)


def take_lock(path: str, *, record_lock: bool, lock_owner: bool) -> Lock:
    """Take the lock or raise LockHeld at once. The flags: calls that this system has (storage/disk/files.py)."""
    if not record_lock:
        return _take_by_name(path)
    while True:
        if _is_held_by_us(path):
            raise LockHeld(os.getpid())
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        try:
            _lock_descriptor(descriptor, lock_owner)
            found = os.fstat(descriptor)
            if _is_still_named(path, found):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
                identity = (found.st_dev, found.st_ino)
                _held[identity] = os.getpid()
                return FileLock(path, descriptor, identity)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the holder removed the file between opening and locking it here


def lock_holder(path: str) -> LockHeld | None:
    """Return the holder of the lock, without taking it; None if it is free, or without record locks."""
    if _is_held_by_us(path):
        return LockHeld(os.getpid())
    try:
        import fcntl

        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (ImportError, FileNotFoundError):
        return None
    try:
        query = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, query))
    finally:
        os.close(descriptor)
    return None if kind == fcntl.F_UNLCK else LockHeld(pid if pid > 0 else None)


def _lock_descriptor(descriptor: int, lock_owner: bool) -> None:
    import fcntl

    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as refused:
        if not lock_owner:
            raise LockHeld(_written_pid(os.pread(descriptor, 32, 0))) from refused
        query = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        pid = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, query))[4]
        raise LockHeld(pid if pid > 0 else None) from refused  # 0: a process of another container


def _is_held_by_us(path: str) -> bool:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    return _held.get((found.st_dev, found.st_ino)) == os.getpid()


def _is_still_named(path: str, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), found)
    except FileNotFoundError:
        return False


def _written_pid(content: bytes) -> int | None:
    text = content.strip()
    return int(text) if text.isdigit() else None


def _take_by_name(path: str) -> Lock:
    """Lock by the file's existence, without record locks; after a kill the file must be removed by hand."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags, _MODE)
    except FileExistsError as taken:
        with open(path, "rb") as holder:
            raise LockHeld(_written_pid(holder.read(32))) from taken
    os.write(descriptor, b"%d\n" % os.getpid())
    return FileLock(path, descriptor, (0, 0))
