"""The preparation of cleaning a log: the amount of work, and the data that its job needs of the rest of the log.

cleanable.py decides; this module reads the segments, in steps, because that may read files. Appends and
other readers continue meanwhile.
"""

from __future__ import annotations

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.storage.config import LONG_MAX, LogConfig
from barnabas.storage.errors import CorruptFile
from barnabas.storage.log.cleaning.cleanable import (
    Cleanable,
    cleanable,
    compaction_delay_ms,
    dirty_segments,
    first_uncleanable,
)
from barnabas.storage.log.segments import Segments
from barnabas.storage.log.watermarks import Watermarks
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.times import settle_age
from barnabas.storage.steps import Steps


def dirtiness(
    segments: Segments,
    watermarks: Watermarks,
    config: LogConfig,
    first_dirty_offset: int,
    now_ms: int,
) -> Steps[Cleanable]:
    """Return the part of the log that can be compacted. StorageError."""
    every = segments.all
    bounds = [watermarks.last_stable_offset, segments.active.base_offset, watermarks.recovery_point]
    dirty = dirty_segments([segment.base_offset for segment in every], first_dirty_offset)
    lag_ms = max(0, config.min_compaction_lag_ms)
    young: list[int] = []
    delay_ms = 0
    if lag_ms:
        for segment in every[dirty.start : dirty.stop]:
            yield from settle_age(segment)
            if segment.largest_timestamp > now_ms - lag_ms:
                young.append(segment.base_offset)
                break
    if config.max_compaction_lag_ms < LONG_MAX:
        found: list[int] = []
        for segment in every[dirty.start : dirty.stop]:
            found.append(_first_timestamp(segment))
            yield
        delay_ms = compaction_delay_ms(found, config, now_ms)
    end = first_uncleanable(bounds, young, first_dirty_offset)
    return cleanable(every, first_dirty_offset, end, delay_ms)


def aborted_behind(segments: Segments, offset: int) -> Steps[list[AbortedTxn]]:
    """Return the aborted transactions that begin below `offset`, a segment's base, and end after it. CorruptFile."""
    found: list[AbortedTxn] = []
    for segment in segments.all:
        if segment.base_offset >= offset:
            entries, is_complete = segment.aborted(offset, offset)
            found += entries
            yield
            if is_complete:
                break
    return found


def _first_timestamp(segment: Segment) -> int:
    """Return the largest timestamp of its first batch, -1 if there is none."""
    try:
        return next((header.max_timestamp for _, header in segment.headers()), -1)
    except DecodeError as damage:
        raise CorruptFile(segment.log.path, str(damage)) from damage
