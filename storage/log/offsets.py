# compiled: mypyc
"""Look-ups of offsets, by timestamp (ListOffsets, Kafka's special timestamps included) and by leader epoch.

Reads only. `bound` is where a reader must stop: the high watermark, or the last stable offset for read_committed;
offsets at or after it are not found. Look-ups by time run in steps, and return the state of the log when they
began: segments may be added meanwhile, or deleted, which raises FileRemoved.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from barnabas.protocol.files.checkpoints import EpochEntry
from barnabas.storage.log.segments import Segments
from barnabas.storage.log.watermarks import Watermarks
from barnabas.storage.segment.leader_epoch_cache import LeaderEpochCache
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.time_search import FoundRecord
from barnabas.storage.segment.times import (
    is_older,
    max_timestamp,
    max_timestamp_from,
    record_at_timestamp,
    record_of_max_timestamp,
)
from barnabas.storage.steps import Steps

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

_UNKNOWN: Final = -1
_SEGMENTS_MASK: Final = 31  # segments skipped between two pauses, less one


class FoundOffset(NamedTuple):
    """A result; -1 three times when nothing is found. `timestamp` (ms) is -1 for the special ones."""

    timestamp: int
    offset: int
    leader_epoch: int


NOT_FOUND: Final = FoundOffset(_UNKNOWN, _UNKNOWN, _UNKNOWN)


class OffsetLookups:
    """Look-ups of offsets in one log, by timestamp and by leader epoch."""

    __slots__ = ("_epochs", "_segments", "_watermarks")

    def __init__(self, segments: Segments, watermarks: Watermarks, epochs: LeaderEpochCache) -> None:
        self._segments = segments
        self._watermarks = watermarks
        self._epochs = epochs

    def find(self, timestamp: int, *, committed: bool) -> Steps[FoundOffset]:
        """Return the result of one ListOffsets timestamp, special ones included. ValueError for unknown ones."""
        marks, epochs = self._watermarks, self._epochs
        entries = epochs.seen_by_readers(marks.log_end_offset)
        segments, bound = self._segments, partial(self._end, committed)
        query = OffsetQuery(segments.all, segments.ages, entries, epochs.leader_epoch, marks.log_start_offset, bound)
        return query.look_up(timestamp)

    def _end(self, committed: bool) -> int:
        marks = self._watermarks
        return marks.last_stable_offset if committed else marks.high_watermark

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return (largest epoch not above `epoch`, offset where the next one begins); (-1, -1) if unknown."""
        return self._epochs.end_offset_for(epoch, self._watermarks.log_end_offset)


class OffsetQuery(NamedTuple):
    """The data of a log that these look-ups need."""

    segments: Sequence[Segment]
    ages: array[int]  # Segments.ages, which these look-ups extend
    epochs: Sequence[EpochEntry]
    leader_epoch: int
    log_start_offset: int
    bound: Callable[[], int]  # it moves between two steps, and the final result is compared with its value then

    def look_up(self, timestamp: int) -> Steps[FoundOffset]:
        """Return the result of one ListOffsets timestamp. ValueError for an unknown negative one."""
        if timestamp >= 0:
            return (yield from self._by_timestamp(timestamp))
        if timestamp == LATEST:
            return FoundOffset(_UNKNOWN, self.bound(), self.leader_epoch)
        if timestamp in (EARLIEST, EARLIEST_LOCAL):  # without tiered storage the earliest offset is a local one
            return self._earliest()
        if timestamp == MAX_TIMESTAMP:
            return (yield from self._of_max_timestamp())
        if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            return NOT_FOUND  # nothing is tiered, nothing waits for upload
        raise ValueError(f"no ListOffsets timestamp is {timestamp}")

    def _earliest(self) -> FoundOffset:
        first = self.epochs[0] if self.epochs else None
        epoch = first.epoch if first and first.start_offset <= self.log_start_offset else _UNKNOWN
        return FoundOffset(_UNKNOWN, self.log_start_offset, epoch)

    def _by_timestamp(self, timestamp: int) -> Steps[FoundOffset]:
        segments, ages = self.segments, self.ages
        first = bisect_left(ages, timestamp, hi=min(len(ages), len(segments)))
        for number in range(first, len(segments)):
            segment = segments[number]
            if is_older(segment, timestamp):
                self._note_age(number, segment.max_timestamp)
                if not number & _SEGMENTS_MASK:
                    yield
                continue
            yield
            newest = yield from max_timestamp(segment)
            self._note_age(number, newest)
            if newest >= timestamp:
                found = yield from record_at_timestamp(segment, timestamp, self.log_start_offset)
                if found is not None:
                    return self._below_bound(found)
        return NOT_FOUND

    def _note_age(self, number: int, max_timestamp: int) -> None:
        """Store the age of the next sealed segment that is not in `ages` yet; the active one's changes."""
        ages = self.ages
        if number == len(ages) < len(self.segments) - 1:
            ages.append(max(max_timestamp, ages[-1]) if number else max_timestamp)

    def _of_max_timestamp(self) -> Steps[FoundOffset]:
        newest, largest = self.segments[0], _UNKNOWN
        for segment in self.segments:
            yield
            if (newest_here := (yield from max_timestamp(segment))) > largest:  # the first of them, if equal
                newest, largest = segment, newest_here
        found = yield from record_of_max_timestamp(newest)
        if found is not None and found.offset < self.log_start_offset:  # it was deleted: search the remaining records
            return (yield from self._by_timestamp((yield from self._largest_timestamp_left())))
        return self._below_bound(found)

    def _largest_timestamp_left(self) -> Steps[int]:
        """Return the largest timestamp at or above the log's start; 0 if none has one. Reads only one segment."""
        largest = 0
        for segment, after in zip(self.segments, [*self.segments[1:], None], strict=True):
            yield
            if after is None or after.base_offset > self.log_start_offset:
                largest = max(largest, (yield from max_timestamp_from(segment, self.log_start_offset)))
        return largest

    def _below_bound(self, found: FoundRecord | None) -> FoundOffset:
        if found is None or found.offset >= self.bound():
            return NOT_FOUND
        return FoundOffset(*found)
