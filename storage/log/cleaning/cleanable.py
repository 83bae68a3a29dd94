"""What of a log can be compacted, how dirty it is, and whether that has to happen now: decisions, as Kafka makes them.

Knows segments by base offset and size, and offsets; reads and changes nothing. The part below the first dirty offset
was compacted before, up to the first uncleanable offset it can be now. As in Kafka that stops at the active segment, at
the last stable offset (so at any open transaction), and at a segment younger than min.compaction.lag.ms.

Unlike Kafka's it also stops at the recovery point: what is compacted is on the disk, and below the recovery point
before it is replaced, so that no recovery ever reads a compacted segment as if a power cut had torn holes in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from barnabas.storage.config import LogConfig


class Extent(Protocol):
    """What is asked of a segment."""

    @property
    def base_offset(self) -> int:
        """Offset of its first batch, or below."""

    @property
    def size(self) -> int:
        """Bytes of its log file."""


class FirstDirty(NamedTuple):
    """Where the part begins that was never compacted."""

    offset: int
    is_reset: bool
    """What the checkpoint said cannot be: it is to be written anew."""


class Cleanable(NamedTuple):
    """What of a log can be compacted now."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    compaction_delay_ms: int
    """By how much its oldest dirty segment is over max.compaction.lag.ms, 0 if it is not."""

    @property
    def total_bytes(self) -> int:
        """Bytes that compaction would read and may shorten."""
        return self.clean_bytes + self.cleanable_bytes

    @property
    def dirty_ratio(self) -> float:
        """How much of it was never compacted, 0 to 1."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def must_be_cleaned(self) -> bool:
        """Whether max.compaction.lag.ms asks for it."""
        return self.compaction_delay_ms > 0 and self.cleanable_bytes > 0

    def is_due(self, config: LogConfig) -> bool:
        """Whether it is dirty enough, or has waited too long."""
        return self.must_be_cleaned or self.dirty_ratio > config.min_cleanable_dirty_ratio


def first_dirty(checkpointed: int | None, *, log_start_offset: int, log_end_offset: int) -> FirstDirty:
    """From what the checkpoint says, None if it says nothing. Outside the log it says nothing, either."""
    if checkpointed is None:
        return FirstDirty(log_start_offset, is_reset=False)
    if log_start_offset <= checkpointed <= log_end_offset:
        return FirstDirty(checkpointed, is_reset=False)
    return FirstDirty(log_start_offset, is_reset=True)


def dirty_segments(bases: Sequence[int], first_dirty_offset: int) -> range:
    """The places of the sealed segments that are in part at or above that offset. The last of `bases` is active."""
    sealed = len(bases) - 1
    first = max(0, sum(base <= first_dirty_offset for base in bases) - 1)
    return range(min(first, sealed), sealed)


def first_uncleanable(bounds: Sequence[int], young: Sequence[int], first_dirty_offset: int) -> int:
    """`bounds`: last stable offset, active segment, recovery point. `young`: bases of segments that have to wait."""
    return max(first_dirty_offset, min([*bounds, *young[:1]]))


def cleanable(
    segments: Sequence[Extent],
    first_dirty_offset: int,
    first_uncleanable_offset: int,
    compaction_delay_ms: int,
) -> Cleanable:
    """Counted as Kafka counts it: a segment that is in part uncleanable is so as a whole, for the ratio.

    One in which both clean and dirty records are counts as both, if the dirty begin in the middle of it.
    """
    bases = [segment.base_offset for segment in segments]
    dirty_from = min(max(0, sum(base <= first_dirty_offset for base in bases) - 1), len(bases) - 1)
    end = min(max(0, sum(base <= first_uncleanable_offset for base in bases) - 1), len(bases) - 1)
    clean_bytes = sum(segment.size for segment in segments if segment.base_offset < first_dirty_offset)
    cleanable_bytes = sum(segment.size for segment in segments[dirty_from:end])
    return Cleanable(first_dirty_offset, first_uncleanable_offset, clean_bytes, cleanable_bytes, compaction_delay_ms)


def compaction_delay_ms(first_timestamps: Sequence[int], config: LogConfig, now_ms: int) -> int:
    """By how much the oldest of these is over max.compaction.lag.ms. Of each dirty segment the first batch's; only
    those above 0 count."""
    earliest = min((timestamp for timestamp in first_timestamps if timestamp > 0), default=None)
    if earliest is None:
        return 0
    return max(0, now_ms - max(config.max_compaction_lag_ms, 0) - earliest)
