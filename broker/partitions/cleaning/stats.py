"""What is told of cleaning: the figures of Kafka's LogCleaner and LogCleanerManager, and the partitions set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.broker.partitions.purgatory import PartitionKey


class Cleaned(NamedTuple):
    """What one cleaning did."""

    topic: str
    partition: int
    bytes_before: int
    bytes_after: int
    records_before: int
    records_after: int
    buffer_utilization: float
    """How full the memory for keys was, 0 to 1."""
    seconds: float
    first_dirty_offset: int
    """Where the next one begins."""


class SetAside(NamedTuple):
    """A partition that is not cleaned any more in this run."""

    directory: str
    """The data directory."""
    reason: str


class CleanerFigures:
    """What happened last, and what was seen when logs were looked at last."""

    def __init__(self) -> None:
        self.last: Cleaned | None = None
        self.cleanings = 0
        """How many have ended well in this run."""
        self.bytes_removed = 0
        """In this run."""
        self.max_dirty_ratio = 0.0
        self.max_compaction_delay_ms = 0
        self.looked_ms: int | None = None
        """When the logs were looked at last."""
        self.set_aside: dict[PartitionKey, SetAside] = {}

    def add(self, cleaned: Cleaned) -> None:
        """A cleaning has ended well."""
        self.last = cleaned
        self.cleanings += 1
        self.bytes_removed += cleaned.bytes_before - cleaned.bytes_after
