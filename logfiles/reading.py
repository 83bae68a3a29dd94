"""How the checks read files: from the disk, or from a test's memory."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Protocol

from barnabas.logfiles.log_file import LogBytes, LogFile


class Reading(Protocol):
    """Files by their paths. FileNotFoundError from `log` and `size` where there is none."""

    def log(self, path: str, size: int) -> AbstractContextManager[LogBytes]:
        """A log, of which the first `size` bytes are looked at."""

    def size(self, path: str) -> int:
        """How long a file is now."""

    def content(self, path: str) -> bytes | None:
        """All of a file that is small; None if it is not there."""


class DiskReading:
    """The operating system's files. Locks nothing and changes nothing."""

    def log(self, path: str, size: int) -> LogFile:
        """The file is open from now on."""
        return LogFile(path, size)

    def size(self, path: str) -> int:
        """As the directory has it."""
        return os.stat(path).st_size

    def content(self, path: str) -> bytes | None:
        """Read at once."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None


DISK = DiskReading()
