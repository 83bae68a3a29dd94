# compiled: mypyc
"""The offset index of a segment: from an offset to a position in the log file, sparse.

An entry names a batch by its *last* offset and its position. The first batch of a segment has none, so a lookup below
the first entry returns the segment's beginning. Format: protocol/files/offset_index.py.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from operator import lt

from barnabas.protocol.files.offset_index import ENTRY
from barnabas.storage.segment.index_file import IndexFile


class OffsetIndex(IndexFile):
    """Offsets here are absolute; the file holds them relative to the segment's base."""

    entry = ENTRY
    columns = ("i", "i")

    @property
    def is_full(self) -> bool:
        """Whether the segment must be rolled before another entry fits."""
        return len(self._first) >= self.entries_max

    @property
    def last(self) -> tuple[int, int]:
        """(last offset, position) of the last batch indexed, (base, 0) if there is none."""
        if not self._first:
            return self.base_offset, 0
        return self.base_offset + self._first[-1], self._second[-1]

    def append(self, last_offset: int, position: int) -> None:
        """Add a batch; both numbers are larger than in the previous entry."""
        self._first.append(last_offset - self.base_offset)
        self._second.append(position)

    def lookup(self, offset: int) -> tuple[int, int]:
        """Return (last offset, position) of the last indexed batch that ends at or before `offset`; or (base, 0)."""
        found = bisect_right(self._first, offset - self.base_offset) - 1
        if found < 0:
            return self.base_offset, 0
        return self.base_offset + self._first[found], self._second[found]

    def last_position_until(self, position: int) -> int:
        """Return the position of the last indexed batch that starts at or before `position`, 0 if none does."""
        found = bisect_right(self._second, position) - 1
        return self._second[found] if found >= 0 else 0

    def upper_bound(self, position: int) -> int | None:
        """Return the last offset of the first indexed batch that starts at or after `position`, None if none does."""
        found = bisect_left(self._second, position)
        return self.base_offset + self._first[found] if found < len(self._second) else None

    def truncate(self, offset: int) -> None:
        """Drop every entry of a batch that ends at or after `offset`."""
        self.keep(bisect_left(self._first, offset - self.base_offset))

    def _decode(self, data: bytes) -> tuple[array[int], array[int]]:
        interleaved = array("i", data)
        if sys.byteorder == "little":
            interleaved.byteswap()
        return interleaved[0::2], interleaved[1::2]

    def _encode(self, first: array[int], second: array[int]) -> bytes:
        interleaved = array("i", bytes(2 * first.itemsize * len(first)))
        interleaved[0::2], interleaved[1::2] = first, second
        if sys.byteorder == "little":
            interleaved.byteswap()
        return interleaved.tobytes()

    def _is_sound(self, first: array[int], second: array[int], last_max: int) -> bool:
        """Return whether both columns increase strictly, from above zero up to the size of the log file."""
        if not first:
            return True
        ordered = all(map(lt, first, first[1:])) and all(map(lt, second, second[1:]))
        return ordered and first[0] >= 0 and second[0] > 0 and second[-1] < last_max


assert array("i").itemsize == 4
