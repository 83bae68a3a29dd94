"""The cleanable part of a log, how dirty it is, and whether it must be compacted now: decisions, as in Kafka.

Knows segments by base offset and size, and offsets; reads and changes nothing. The part below the first dirty offset
was compacted before; up to the first uncleanable offset it can be compacted now. As in Kafka this is limited by the
active segment, the last stable offset (so any open transaction), and a segment younger than min.compaction.lag.ms.

Unlike in Kafka it is also limited by the recovery point: compacted segments are on the disk and below the recovery
point before they are replaced, so no recovery takes the holes of a compacted segment for damage by a power cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from barnabas.storage.config import LogConfig


class Extent(Protocol):
    """The properties of a segment that are needed here."""

    @property
    def base_offset(self) -> int:
        """The offset of its first batch, or below."""

    @property
    def size(self) -> int:
        """The bytes of its log file."""


class FirstDirty(NamedTuple):
    """The beginning of the part that was never compacted."""

    offset: int
    is_reset: bool
    """The checkpoint is invalid and must be rewritten."""


class Cleanable(NamedTuple):
    """The part of a log that can be compacted now."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    compaction_delay_ms: int
    """The time by which its oldest dirty segment exceeds max.compaction.lag.ms, 0 if it does not."""

    @property
    def total_bytes(self) -> int:
        """The bytes that compaction would read and may shorten."""
        return self.clean_bytes + self.cleanable_bytes

    @property
    def dirty_ratio(self) -> float:
        """The share of it that was never compacted, 0 to 1."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def must_be_cleaned(self) -> bool:
        """Whether max.compaction.lag.ms requires it."""
        return self.compaction_delay_ms > 0 and self.cleanable_bytes > 0

    def is_due(self, config: LogConfig) -> bool:
        """Return whether it is dirty enough, or has waited too long."""
        return self.must_be_cleaned or self.dirty_ratio > config.min_cleanable_dirty_ratio


def first_dirty(checkpointed: int | None, *, log_start_offset: int, log_end_offset: int) -> FirstDirty:
    """Return the first dirty offset from the checkpoint, None without one. An offset outside the log is invalid."""
    if checkpointed is None:
        return FirstDirty(log_start_offset, is_reset=False)
    if log_start_offset <= checkpointed <= log_end_offset:
        return FirstDirty(checkpointed, is_reset=False)
    return FirstDirty(log_start_offset, is_reset=True)


def dirty_segments(bases: Sequence[int], first_dirty_offset: int) -> range:
    """Return the indexes of the sealed segments that reach above that offset. The last of `bases` is active."""
    sealed = len(bases) - 1
    first = max(0, sum(base <= first_dirty_offset for base in bases) - 1)
    return range(min(first, sealed), sealed)


def first_uncleanable(bounds: Sequence[int], young: Sequence[int], first_dirty_offset: int) -> int:
    """Return the limit. `bounds`: last stable offset, active segment, recovery point. `young`: waiting segments."""
    return max(first_dirty_offset, min([*bounds, *young[:1]]))


def cleanable(
    segments: Sequence[Extent],
    first_dirty_offset: int,
    first_uncleanable_offset: int,
    compaction_delay_ms: int,
) -> Cleanable:
    """Return the cleanable part, counted as in Kafka: a partly uncleanable segment is not cleanable, for the ratio.

    A segment with both clean and dirty records counts as both, if the dirty ones begin in the middle of it.
    """
    bases = [segment.base_offset for segment in segments]
    dirty_from = min(max(0, sum(base <= first_dirty_offset for base in bases) - 1), len(bases) - 1)
    end = min(max(0, sum(base <= first_uncleanable_offset for base in bases) - 1), len(bases) - 1)
    clean_bytes = sum(segment.size for segment in segments if segment.base_offset < first_dirty_offset)
    cleanable_bytes = sum(segment.size for segment in segments[dirty_from:end])
    return Cleanable(first_dirty_offset, first_uncleanable_offset, clean_bytes, cleanable_bytes, compaction_delay_ms)


def compaction_delay_ms(first_timestamps: Sequence[int], config: LogConfig, now_ms: int) -> int:
    """Return the time by which the oldest of these exceeds max.compaction.lag.ms.
    The timestamps are of the first batch of each dirty segment; only those above 0 count.
    """
    earliest = min((timestamp for timestamp in first_timestamps if timestamp > 0), default=None)
    if earliest is None:
        return 0
    return max(0, now_ms - max(config.max_compaction_lag_ms, 0) - earliest)
