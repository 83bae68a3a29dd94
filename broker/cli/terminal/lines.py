"""Lines of a file or a pipe as they come: in large pieces where there is much, one at a time where somebody types."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

_READ_BYTES = 1 << 16


def lines_as_they_come(descriptor: int) -> Iterator[list[bytes]]:
    """Lists of whole lines (without their ends). An empty list means: nothing more at the moment, so flush.

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
    """Whether reading would not wait. A regular file always is, and epoll would refuse it; select does not."""
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):  # not selectable on this system, or a descriptor beyond what select can watch
        return True
