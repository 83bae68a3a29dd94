"""The files of a job's directory, even if it is renamed: all that a helper process may access.

A topic can be deleted while its job's process is being killed, and made again under the same name. So the process
enters the directory and reaches its files from there: a directory that is renamed stays the one that was entered, and a
new one of its name is never seen. It also locks the directory itself (flock on its descriptor, which leaves no file
behind): a process whose broker was killed a moment ago is waited for, before another one works on the same files.

Invariant: no path outside the directory is opened, made, renamed or removed.
"""

from __future__ import annotations

import os

from barnabas.storage.disk.files import CommonSync, Entry, File, FileStat, RealFiles, Volume


class OwnDirectory(RealFiles):
    """The operating system's files below `path`, addressed by their full paths."""

    def __init__(self, path: str) -> None:
        """Enter the directory, and wait until no other process works in it. Raises OSError."""
        super().__init__()
        self._path = path
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fchdir(self._descriptor)
            import fcntl

            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(self._descriptor)
            raise

    def leave(self) -> None:
        """Leave the directory and release its lock, at the end of the job."""
        os.chdir("/")
        os.close(self._descriptor)

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        return super().open(self._inside(path), create=create, read_only=read_only)

    def stat(self, path: str) -> FileStat:
        return super().stat(self._inside(path))

    def entries(self, path: str) -> list[Entry]:
        return super().entries(self._inside(path))

    def volume(self, path: str) -> Volume:
        return super().volume(self._inside(path))

    def mkdir(self, path: str) -> None:
        super().mkdir(self._inside(path))

    def rename(self, source: str, target: str) -> None:
        super().rename(self._inside(source), self._inside(target))

    def remove(self, path: str) -> None:
        super().remove(self._inside(path))

    def rmdir(self, path: str) -> None:
        super().rmdir(self._inside(path))

    def sync_directory(self, path: str) -> None:
        super().sync_directory(self._inside(path))

    def common_sync(self, path: str) -> CommonSync | None:
        return None  # one file at a time: there is nothing else of the file system to wait for

    def _inside(self, path: str) -> str:
        if path == self._path:
            return "."
        name = path.removeprefix(f"{self._path}/")
        is_below = name != path and not name.startswith(("/", ".."))
        assert is_below, f"{path} is not below {self._path}"
        return name
