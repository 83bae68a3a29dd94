# compiled: mypyc
"""A response that is sent piece by piece, because it is large or because the peer reads slowly.

Its parts are our own bytes and slices of segment files in turn. A slice is read when its piece is about to be written
and not before: a peer that fetches 50 MB and never reads costs one piece, not 50 MB.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Final, Protocol, cast

_JOINED_BYTES_MAX: Final = 8 << 10
_OURS: Final = (bytes, bytearray)  # a tuple: faster to check against than a union


class ReadableSlice(Sized, Protocol):
    """A stretch of a file that can still be read."""

    def read(self, position: int, size: int) -> bytes:
        """Read `size` bytes from `position` of the slice on; fewer when the file has become shorter."""


class PendingSend:
    """The rest of one response that is still to be sent."""

    __slots__ = ("_index", "_parts", "_position", "is_empty")

    def __init__(self, parts: Sequence[Sized]) -> None:
        self._parts = parts
        self._index = 0
        self._position = 0  # within the part at _index
        self.is_empty = not parts

    def take(self, size: int) -> list[bytes | bytearray]:
        """Return the next buffers: about `size` bytes together, at least one buffer; a single one where they are few.

        Raises EOFError when a file is shorter than it was when the response was made; StorageError when it cannot be
        read.
        """
        parts, index = self._parts, self._index
        buffers: list[bytes | bytearray] = []
        end = len(parts)
        left_to_take = size
        while left_to_take > 0 and index < end:
            part = parts[index]
            index += 1
            if isinstance(part, _OURS):
                buffers.append(part)
                left_to_take -= len(part)
                continue
            position = self._position
            wanted = left = len(part) - position
            if wanted > left_to_take:
                wanted = left_to_take
            data = cast("ReadableSlice", part).read(position, wanted)
            if len(data) != wanted:
                raise EOFError(f"{len(data)} bytes in a segment where there were {wanted}")
            buffers.append(data)
            left_to_take -= wanted
            if wanted == left:
                self._position = 0
            else:
                self._position = position + wanted
                index -= 1
        self._index = index
        self.is_empty = index == end
        # The transport's bookkeeping of several buffers costs more than a copy of a few bytes.
        return [b"".join(buffers)] if size - left_to_take <= _JOINED_BYTES_MAX and len(buffers) > 1 else buffers
