"""The totals appended in this run to logs that are closed now: of partitions that were deleted, or moved.

Exported counters (broker/http/metrics) must never decrease, and a log that is opened again counts from zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.storage.log.log import PartitionLog


class ClosedLogTotals:
    """The totals of all closed logs."""

    def __init__(self) -> None:
        self.records = 0
        self.size = 0
        """In bytes."""

    def add(self, log: PartitionLog) -> None:
        """Add the counters of a log that is released."""
        records, size = log.appended
        self.records += records
        self.size += size
