"""Lines of a file or a pipe as they arrive: in large pieces from fast input, one at a time from a keyboard."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

_READ_BYTES = 1 << 16


def lines_as_they_come(descriptor: int) -> Iterator[list[bytes]]:
    """Yield lists of whole lines (without their ends). An empty list means: no more input at the moment, so flush.

    A last line without an end counts. Ends are LF or CR LF.
    """
    tail = b""
    while True:
        if not _is_readable(descriptor):
            yield []
        data = os.read(descriptor, _READ_BYTES)
        if not data:
            break
        *whole, tail = (tail + data).split(b"\n")
        if whole:
            yield [line.removesuffix(b"\r") for line in whole]
    if tail:
        yield [tail.removesuffix(b"\r")]


def _is_readable(descriptor: int) -> bool:
    """Return whether reading would not block: always true for a regular file, which select accepts, unlike epoll."""
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):  # not selectable on this system, or a descriptor above select's limit
        return True
