"""How the checks read files: from the disk, or from a test's memory."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Protocol

from barnabas.logfiles.log_file import LogBytes, LogFile


class Reading(Protocol):
    """Files by their paths. FileNotFoundError from `log` and `size` where there is none."""

    def log(self, path: str, size: int) -> AbstractContextManager[LogBytes]:
        """Open a log, of which the first `size` bytes are read."""

    def size(self, path: str) -> int:
        """Return the present length of a file."""

    def content(self, path: str) -> bytes | None:
        """Return the whole content of a small file; None if it does not exist."""


class DiskReading:
    """The operating system's files. Locks nothing and changes nothing."""

    def log(self, path: str, size: int) -> LogFile:
        """Open the file."""
        return LogFile(path, size)

    def size(self, path: str) -> int:
        """Return the size in the directory."""
        return os.stat(path).st_size

    def content(self, path: str) -> bytes | None:
        """Read the whole file at once."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None


DISK = DiskReading()
