# compiled: mypyc
"""Reading from a log: the bytes of a segment, and the aborted transactions in them.

The result is a slice of a file, whose bytes are read when they are sent. A slice lies in one segment and below its
bound. It begins with a whole batch; if a limit ends it, it may end in the middle of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from barnabas.storage.disk.disk_file import FileSlice
from barnabas.storage.log.segments import Segments
from barnabas.storage.log.watermarks import Watermarks
from barnabas.storage.refusals import OffsetOutOfRange
from barnabas.storage.segment.segment import Segment

_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


class ReadResult(NamedTuple):
    """The result of a read. `data` is None when there is nothing to read (yet).

    `aborted` holds (producer id, first offset) pairs for a committed read, in no order, possibly some that lie outside;
    None for an uncommitted one, and, as in Kafka, if there are batches that do not fit.
    """

    data: FileSlice | None
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[tuple[int, int]] | None

    @property
    def size(self) -> int:
        """The bytes to read."""
        return 0 if self.data is None else self.data.size

    def read_all(self) -> bytes:
        """Return all bytes at once."""
        return b"" if self.data is None else self.data.read_all()


class Reader:
    """The readable side of one log. Every bound is exclusive."""

    __slots__ = ("_name", "_segments", "_watermarks")

    def __init__(self, name: str, segments: Segments, watermarks: Watermarks) -> None:
        self._name = name
        self._segments = segments
        self._watermarks = watermarks

    def read(self, offset: int, max_bytes: int, *, committed: bool, force_first_batch: bool) -> ReadResult:
        """Return data at `offset`, at most `max_bytes`, never beyond the high watermark or last stable offset.

        The slice begins with the batch that holds `offset`, which may begin before it. Raises OffsetOutOfRange.
        """
        marks, segments = self._watermarks, self._segments
        if not marks.log_start_offset <= offset <= marks.log_end_offset:
            raise self._out_of_range(offset)
        bound = marks.last_stable_offset if committed else marks.high_watermark
        data: FileSlice | None = None
        aborted: list[tuple[int, int]] | None = [] if committed else None
        if offset < bound:
            active = segments.active
            found: tuple[int, FileSlice] | None
            if offset >= active.base_offset:  # as slice_of does, for a reader that keeps up
                last = active.read(offset, max_bytes, active.position_of(bound), force_first_batch)
                found = None if last is None else (len(segments.all) - 1, last)
            else:
                found = slice_of(segments.all, segments.index_of(offset), offset, bound, max_bytes, force_first_batch)
            if found is None:
                aborted = None
            else:
                data = found[1]
                if committed:
                    aborted = aborted_in(segments.all, *found, offset, marks.log_end_offset)
        marked = data, marks.high_watermark, marks.last_stable_offset, marks.log_start_offset, aborted
        return _new_tuple(ReadResult, marked)

    def read_own(self, offset: int, max_bytes: int) -> bytes:
        """Return at least a batch, up to the log end: for a coordinator, which wrote and acknowledged all of it."""
        marks, segments = self._watermarks, self._segments
        bound = marks.log_end_offset
        if not marks.log_start_offset <= offset <= bound:
            raise self._out_of_range(offset)
        if offset == bound:
            return b""
        found = slice_of(segments.all, segments.index_of(offset), offset, bound, max_bytes, force_first_batch=True)
        return b"" if found is None else found[1].read_all()

    def readable_bytes(self, offset: int, committed: bool) -> int:
        """Return about how many bytes a reader at `offset` could read; 0 where a read would raise."""
        marks, segments = self._watermarks, self._segments
        bound = marks.last_stable_offset if committed else marks.high_watermark
        if not marks.log_start_offset <= offset < bound:
            return 0
        active = segments.active
        if offset >= active.base_offset:
            return max(0, active.position_of(bound) - active.position_of(offset))
        return bytes_between(segments.all, segments.index_of(offset), offset, bound)

    def _out_of_range(self, offset: int) -> OffsetOutOfRange:
        marks = self._watermarks
        return OffsetOutOfRange(
            f"{self._name}: offset {offset} is not in [{marks.log_start_offset}, {marks.log_end_offset}]"
        )


def slice_of(
    segments: Sequence[Segment], index: int, offset: int, bound: int, max_bytes: int, force_first_batch: bool
) -> tuple[int, FileSlice] | None:
    """Return (segment's index, slice) with the batch that holds `offset`, or the first after it, and the following.

    `index` is the segment `offset` falls into. Later segments are used only if that one has nothing at or after
    `offset`: its last batches may be gone.
    """
    while index < len(segments) and segments[index].base_offset < bound:
        segment = segments[index]
        end_position = end_position_of(segments, index, bound)
        found = segment.read(offset, max_bytes, end_position, force_first_batch)
        if found is not None:
            return index, found
        if segment.position_of(offset) < end_position:
            return None  # there are batches, but they do not fit
        index += 1
    return None


def end_position_of(segments: Sequence[Segment], index: int, bound: int) -> int:
    """Return the position of `bound` in a segment: its size if the bound is after it."""
    segment = segments[index]
    if index + 1 < len(segments) and segments[index + 1].base_offset <= bound:
        return segment.size
    return segment.position_of(bound)


def aborted_in(
    segments: Sequence[Segment], index: int, found: FileSlice, start_offset: int, log_end_offset: int
) -> list[tuple[int, int]]:
    """Return producers and first offsets of the aborted transactions that may overlap a slice of segment `index`.

    The entry of a transaction lies in the segment of its marker, so the search goes forward from the slice's own.
    """
    upper_bound = segments[index].upper_bound_offset(found.position + found.size)
    if upper_bound is None:
        upper_bound = segments[index + 1].base_offset if index + 1 < len(segments) else log_end_offset
    aborted: list[tuple[int, int]] = []
    for segment in segments[index:]:
        entries, is_complete = segment.aborted(start_offset, upper_bound)
        aborted += [(entry.producer_id, entry.first_offset) for entry in entries]
        if is_complete:
            break
    return aborted


def bytes_between(segments: Sequence[Segment], index: int, offset: int, bound: int) -> int:
    """Return about how many bytes lie between two offsets, to decide whether to wake a waiting fetch.

    Exact within a segment, and never more than what can be read at all.
    """
    size = 0
    for at in range(index, len(segments)):
        segment = segments[at]
        if segment.base_offset >= bound:
            break
        start = segment.position_of(offset) if at == index else 0
        size += max(0, end_position_of(segments, at, bound) - start)
    return size
