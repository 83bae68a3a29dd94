"""Grouping of neighbouring segments that are cleaned into one, so that segments do not become ever smaller. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_OFFSET_SPAN_MAX = 0x7FFFFFFF  # indexes hold offsets relative to the segment's base


class SegmentSizes(NamedTuple):
    """A segment to be cleaned, and the bytes of its files."""

    base_offset: int
    log_bytes: int
    offset_index_bytes: int
    time_index_bytes: int


def group_segments(
    segments: Sequence[SegmentSizes], log_bytes_max: int, index_bytes_max: int, end_offset: int
) -> list[list[SegmentSizes]]:
    """Group the segments, which end at `end_offset`: a group's files fit the limits even if nothing is removed."""
    groups: list[list[SegmentSizes]] = []
    log_bytes = offset_index_bytes = time_index_bytes = 0  # of the last group
    for index, segment in enumerate(segments):
        segment_end = segments[index + 1].base_offset if index + 1 < len(segments) else end_offset
        log_bytes += segment.log_bytes
        offset_index_bytes += segment.offset_index_bytes
        time_index_bytes += segment.time_index_bytes
        if (
            groups
            and log_bytes <= log_bytes_max
            and max(offset_index_bytes, time_index_bytes) <= index_bytes_max
            and (segment.log_bytes == 0 or segment_end - 1 - groups[-1][0].base_offset <= _OFFSET_SPAN_MAX)
        ):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            _, log_bytes, offset_index_bytes, time_index_bytes = segment
    return groups
