"""What was appended in this run to logs that are not open any more: of partitions that were deleted, or moved.

Counters that are read (broker/http/metrics) may only rise, and a log that is opened again counts from zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.storage.log.log import PartitionLog


class ClosedLogTotals:
    """The sums over all of them."""

    def __init__(self) -> None:
        self.records = 0
        self.size = 0
        """In bytes."""

    def add(self, log: PartitionLog) -> None:
        """The log is let go."""
        records, size = log.appended
        self.records += records
        self.size += size
