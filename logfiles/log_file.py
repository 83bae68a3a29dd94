"""The bytes of one `.log` file: the interface for the walk, and reading from a file.

`LogFile` reads through a window that moves forward, so memory does not grow with the file. It uses pread, no
mapping: a broker may truncate the file meanwhile, and reading a mapped page that is gone ends the process.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import Self

WINDOW_BYTES = 1 << 20


class LogBytes(Protocol):
    """The first `size` bytes of a log. A returned view stays valid for as long as it is referenced."""

    size: int

    def read(self, position: int, length: int) -> memoryview:
        """Read `length` bytes from `position` on, fewer at the end."""


class LogFile:
    """A log file of which only the first `size` bytes are read. A context manager."""

    def __init__(self, path: str, size: int, window_bytes: int = WINDOW_BYTES) -> None:
        self.path = path
        self.size = size
        self._window_bytes = window_bytes
        self._descriptor = os.open(path, os.O_RDONLY)
        self._window = memoryview(b"")
        self._start = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def read(self, position: int, length: int) -> memoryview:
        """Read `length` bytes from `position` on, fewer at the end. The view stays valid while it is referenced."""
        length = min(length, self.size - position)
        at = position - self._start
        if at < 0 or at + length > len(self._window):
            self._fill(position, max(length, min(self._window_bytes, self.size - position)))
            at = 0
        return self._window[at : at + length]

    def _fill(self, position: int, length: int) -> None:
        parts: list[bytes] = []
        missing = length
        while missing > 0 and (part := os.pread(self._descriptor, missing, position + length - missing)):
            parts.append(part)
            missing -= len(part)
        self._window = memoryview(b"".join(parts))
        self._start = position
