# compiled: mypyc
"""A response that is sent piece by piece, because it is large or because the peer reads slowly.

Its parts are our own bytes and slices of segment files in turn. A slice is read when its piece is about to be written
and not before: a peer that fetches 50 MB and never reads costs one piece, not 50 MB.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Final, Protocol, cast

_OURS: Final = (bytes, bytearray)  # a tuple: faster to check against than a union


class ReadableSlice(Sized, Protocol):
    """A stretch of a file that can still be read."""

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Read from `position` of the slice on into all of the buffer; return how many bytes were there.

        The buffer is no larger than the rest of the slice.
        """


class PendingSend:
    """The rest of one response that is still to be sent."""

    __slots__ = ("_index", "_parts", "_position", "is_empty")

    def __init__(self, parts: Sequence[Sized]) -> None:
        self._parts = parts
        self._index = 0
        self._position = 0  # within the part at _index
        self.is_empty = not parts

    def fill(self, buffer: memoryview) -> int:
        """Put the next bytes into the buffer; return how many: all that it holds, or the rest of the response.

        Raises EOFError when a file is shorter than it was when the response was made; StorageError when it cannot be
        read.
        """
        parts, index, position = self._parts, self._index, self._position
        room, end = len(buffer), len(parts)
        count = 0
        while count < room and index < end:
            part = parts[index]
            size = len(part) - position
            left = size
            if size > room - count:
                size = room - count
            if isinstance(part, _OURS):
                buffer[count : count + size] = part[position : position + size]
            else:
                found = cast("ReadableSlice", part).read_into(buffer[count : count + size], position)
                if found != size:
                    raise EOFError(f"{found} bytes in a segment where there were {size}")
            count += size
            if size == left:
                index += 1
                position = 0
            else:
                position += size
        self._index, self._position = index, position
        self.is_empty = index == end
        return count
