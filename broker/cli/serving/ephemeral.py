"""Directories that live no longer than the process that made them: their location, and the removal after a kill.

They are in memory if there is enough space (/dev/shm), since nothing in them has to persist; TMPDIR moves them. Each
contains a file `owner` that its process keeps locked. The kernel releases the lock however the process ends, so a
directory whose file is not locked is abandoned, and the next process that makes one removes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Self

PREFIX = "barnabas-"
_MEMORY = "/dev/shm"
_MEMORY_FREE_MIN = 1 << 30  # a container has 64 MB there by default, and a test may write more
_OWNER = "owner"


class EphemeralDirectory:
    """A new directory, `path`, only for this process's user; removed by `remove` or at the end of a `with`."""

    def __init__(self, base: str | None = None) -> None:
        """Remove abandoned directories in the same place, and make a new one. OSError if that is impossible."""
        self._base = base or choose_base()
        sweep(self._base)
        while True:
            self.path = os.path.join(self._base, PREFIX + os.urandom(8).hex())
            os.mkdir(self.path, 0o700)
            owner = _locked(self.path, create=True)
            if owner is not None:  # else a sweeping process was faster, and took it for an abandoned one
                self._owner = owner
                return

    def remove(self) -> None:
        """Remove it with all its contents. Call it once."""
        _remove_tree(self.path)
        os.close(self._owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def choose_base() -> str:
    """Return the best parent of short-lived directories."""
    if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK | os.X_OK):
        found = os.statvfs(_MEMORY)
        if found.f_bavail * found.f_frsize >= _MEMORY_FREE_MIN:
            return _MEMORY
    from tempfile import gettempdir

    return gettempdir()


def sweep(base: str) -> None:
    """Remove the directories of ended processes in `base`."""
    for path in _candidates(base):
        owner = _locked(path, create=False)
        if owner is not None:
            _remove_tree(path)
            os.close(owner)


def _candidates(base: str) -> Iterator[str]:
    with os.scandir(base) as entries:
        paths = [entry.path for entry in entries if entry.name.startswith(PREFIX)]
    for path in paths:
        with suppress(OSError):  # another process may sweep at the same time
            found = os.lstat(path)
            if found.st_uid == os.geteuid() and os.path.isdir(path):
                yield path


def _locked(path: str, *, create: bool) -> int | None:
    """Return a descriptor that holds the lock of a directory; None if another process has it, or it is missing."""
    import fcntl

    name = os.path.join(path, _OWNER)
    try:
        owner = os.open(name, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(owner), os.stat(name)):
            return owner
    except OSError:
        pass  # locked, or removed in between
    os.close(owner)
    return None


def _remove_tree(path: str) -> None:
    from shutil import rmtree  # imported here, since it brings the archive formats with it

    rmtree(path, ignore_errors=True)
