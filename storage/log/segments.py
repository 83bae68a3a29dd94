# compiled: mypyc
"""The segments of a log, in order: the sealed ones, and after them the active one.

Knows segments by base offset and size; the code that adds and replaces them handles their files. `ages` is
stored here for the look-ups by time: they find the segment to read without checking all before it.

Invariants: there is at least one segment; base offsets ascend; `all` is a tuple that is replaced and never changed, so
a look-up that pauses continues with the segments at its beginning. `ages` only grows, and is replaced when segments
are replaced.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence

from barnabas.storage.segment.segment import Segment


class Segments:
    """The segments of one log. `active` is the last of `all`."""

    __slots__ = ("active", "ages", "all", "bytes_replaced")

    def __init__(self, segments: Sequence[Segment]) -> None:
        assert segments, "a log has at least one segment"
        _check_ascending(segments)
        self.all = tuple(segments)
        self.active = segments[-1]
        self.ages = array("q")
        """The largest timestamp up to each of the first sealed segments, as far as they were read so far."""
        self.bytes_replaced = 0  # by how much replacements have shortened the log

    @property
    def size(self) -> int:
        """The bytes in the segments, without their indexes."""
        return sum(segment.size for segment in self.all)

    def add(self, segment: Segment) -> None:
        """Make a new segment the active one; the previous one is sealed."""
        _check_ascending((self.active, segment))
        self.all = (*self.all, segment)
        self.active = segment

    def replace(self, old: Sequence[Segment], new: Sequence[Segment] = ()) -> None:
        """Replace `old` by `new`: consecutive sealed segments."""
        first = self.all.index(old[0])
        after = first + len(old)
        assert self.all[first:after] == tuple(old), "the segments to replace do not follow one another in the log"
        assert after < len(self.all), f"segment {self.active.base_offset} is active and cannot be replaced"
        _check_ascending((*self.all[max(0, first - 1) : first], *new, self.all[after]))
        self.all = (*self.all[:first], *new, *self.all[after:])
        self.ages = self.ages[:first]
        self.bytes_replaced += sum(segment.size for segment in old) - sum(segment.size for segment in new)

    def index_of(self, offset: int) -> int:
        """Return the index of the last segment that begins at or below `offset`, 0 if none does."""
        if offset >= self.active.base_offset:
            return len(self.all) - 1
        return max(0, bisect_right(self.all, offset, key=_base_offset) - 1)


def _check_ascending(segments: Sequence[Segment]) -> None:
    offsets = [segment.base_offset for segment in segments]
    assert all(map(int.__lt__, offsets, offsets[1:])), f"base offsets of segments do not ascend: {offsets}"


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
