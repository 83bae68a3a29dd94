"""The metrics of cleaning: those of Kafka's LogCleaner and LogCleanerManager, and the uncleanable partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.broker.partitions.purgatory import PartitionKey


class Cleaned(NamedTuple):
    """The result of one cleaning."""

    topic: str
    partition: int
    bytes_before: int
    bytes_after: int
    records_before: int
    records_after: int
    buffer_utilization: float
    """The fill level of the dedupe buffer, 0 to 1."""
    seconds: float
    first_dirty_offset: int
    """The offset where the next cleaning begins."""


class SetAside(NamedTuple):
    """A partition that is not cleaned any more in this run."""

    directory: str
    """The data directory."""
    reason: str


class CleanerFigures:
    """The result of the last cleaning, and of the last check of the logs."""

    def __init__(self) -> None:
        self.last: Cleaned | None = None
        self.cleanings = 0
        """The number of cleanings that succeeded in this run."""
        self.bytes_removed = 0
        """In this run."""
        self.max_dirty_ratio = 0.0
        self.max_compaction_delay_ms = 0
        self.looked_ms: int | None = None
        """The time of the last check of the logs."""
        self.set_aside: dict[PartitionKey, SetAside] = {}

    def add(self, cleaned: Cleaned) -> None:
        """Count a cleaning that succeeded."""
        self.last = cleaned
        self.cleanings += 1
        self.bytes_removed += cleaned.bytes_before - cleaned.bytes_after
