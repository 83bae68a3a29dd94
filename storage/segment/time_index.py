# compiled: mypyc
"""The time index of a segment: from a timestamp to an offset, sparse.

An entry means that up to its offset no timestamp in the segment is larger than its own. When a segment is sealed its
largest timestamp becomes the closing entry, so the last entry is the segment's age. Format:
protocol/files/time_index.py.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from operator import le, lt
from typing import Final

from barnabas.protocol.files.time_index import ENTRY
from barnabas.storage.segment.index_file import IndexFile

NO_TIMESTAMP: Final = -1


class TimeIndex(IndexFile):
    """Timestamps in ms; offsets here are absolute, the file holds them relative to the segment's base."""

    entry = ENTRY
    columns = ("q", "i")

    @property
    def is_full(self) -> bool:
        """Whether the segment must be rolled; one entry is reserved for the closing entry."""
        return len(self._first) >= self.entries_max - 1

    @property
    def last(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry, (-1, base) if there is none."""
        if not self._first:
            return NO_TIMESTAMP, self.base_offset
        return self._first[-1], self.base_offset + self._second[-1]

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry if its timestamp is larger than the last one's."""
        if timestamp > self.last[0]:
            assert not self._second or offset >= self.base_offset + self._second[-1]
            self._first.append(timestamp)
            self._second.append(offset - self.base_offset)

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """Return (timestamp, offset) of the last entry whose timestamp is not larger; (-1, base) if there is none."""
        found = bisect_right(self._first, timestamp) - 1
        if found < 0:
            return NO_TIMESTAMP, self.base_offset
        return self._first[found], self.base_offset + self._second[found]

    def truncate(self, offset: int) -> None:
        """Drop every entry at or after `offset`."""
        self.keep(bisect_left(self._second, offset - self.base_offset))

    def read_last(self) -> tuple[int, int] | None:
        """Return `last` without loading the other entries; None if the file is missing or not trimmed."""
        if self.is_loaded:
            return self.last
        data = self.directory.read_last_entry(self.name, self.entry.size)
        if data == b"":
            return NO_TIMESTAMP, self.base_offset
        if data is None or not any(data):
            return None
        timestamp, relative_offset = self.entry.unpack(data)
        return timestamp, self.base_offset + relative_offset

    def _is_sound(self, first: array[int], second: array[int], last_max: int) -> bool:
        """Return whether timestamps increase strictly from -1 on and offsets do not decrease."""
        if not first:
            return True
        rising = all(map(lt, first, first[1:])) and all(map(le, second, second[1:]))
        return rising and first[0] > NO_TIMESTAMP and second[0] >= 0


assert array("q").itemsize == 8
