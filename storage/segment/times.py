# compiled: mypyc
"""Look-ups by time in a segment, in steps: its age, and the first record that is not older than a timestamp.

The time index is mostly enough. One that is missing, or omits batches whose headers lack their largest timestamp
(earlier versions made such), is first rebuilt from the log. Meanwhile appends and other readers continue; the new
index replaces the old one in one step, when it has caught up with them.
"""

from __future__ import annotations

from barnabas.protocol.errors import DecodeError
from barnabas.storage.errors import CorruptFile
from barnabas.storage.segment.indexes import UNKNOWN
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.time_index import NO_TIMESTAMP
from barnabas.storage.segment.time_search import FoundRecord, first_record_at, largest_timestamp_from, max_timestamp_of
from barnabas.storage.steps import Steps


def max_timestamp(segment: Segment) -> Steps[int]:
    """Return the largest timestamp of the segment, -1 if no batch has one."""
    if not segment.indexes.tells_all_times or segment.indexes.max_timestamp == UNKNOWN:
        yield from _index_again(segment)
    return segment.max_timestamp


def is_older(segment: Segment, timestamp: int) -> bool:
    """Return whether every record is known to be older than `timestamp`; else `max_timestamp` must decide."""
    indexes = segment.indexes
    return indexes.tells_all_times and UNKNOWN != indexes.max_timestamp < timestamp


def settle_age(segment: Segment) -> Steps[None]:
    """Determine the segment's age. With damaged batches the index is used unchanged, as nothing better is known."""
    try:
        yield from max_timestamp(segment)
    except CorruptFile:
        segment.indexes.tells_all_times = True


def max_timestamp_from(segment: Segment, start_offset: int) -> Steps[int]:
    """Return the largest timestamp of the records at or after `start_offset`, -1 if none has one."""
    if segment.base_offset >= start_offset:
        return (yield from max_timestamp(segment))
    try:
        position = segment.position_of(start_offset)
        return (yield from largest_timestamp_from(segment.log, position, segment.size, start_offset))
    except DecodeError as damage:
        raise CorruptFile(segment.log.path, str(damage)) from damage


def record_at_timestamp(segment: Segment, timestamp: int, start_offset: int) -> Steps[FoundRecord | None]:
    """Return the first record, in offset order, not older than `timestamp` and not below `start_offset`."""
    index = segment.time_index
    if not segment.indexes.tells_all_times or not (index.is_loaded or index.load(segment.size)):
        yield from _index_again(segment)
    _, indexed_offset = index.lookup(timestamp)
    position = segment.position_of(max(indexed_offset, start_offset))
    try:
        return (yield from first_record_at(segment.log, position, segment.size, timestamp, start_offset))
    except DecodeError as damage:
        raise CorruptFile(segment.log.path, str(damage)) from damage


def record_of_max_timestamp(segment: Segment) -> Steps[FoundRecord | None]:
    """Return the first record with the segment's largest timestamp; None if no batch has one."""
    largest = yield from max_timestamp(segment)
    if largest == NO_TIMESTAMP:
        return None
    return (yield from record_at_timestamp(segment, largest, segment.base_offset))


def _index_again(segment: Segment) -> Steps[None]:
    fresh = segment.indexes.emptied()
    position = 0
    try:
        while position < segment.size:  # the size may grow
            begun_at = position
            for at, header in segment.headers(position):
                yield
                largest = header.max_timestamp
                if header.lacks_max_timestamp:
                    batch = segment.batch_bytes(at, header.size_in_bytes)
                    largest = yield from max_timestamp_of(batch, header)
                fresh.add(at, header.last_offset, largest)
                position = at + header.size_in_bytes
            if position == begun_at:
                raise CorruptFile(segment.log.path, f"{segment.size - position} bytes behind the last whole batch")
    except DecodeError as damage:
        raise CorruptFile(segment.log.path, str(damage)) from damage
    segment.indexes.take_times(fresh)
