"""The queued batches of one partition, oldest first. Pure: it sends nothing and decides nothing.

Invariant: batches are sent in the order they came, so those in flight are at the front, except a failed one that waits
there until no batch after it is in flight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas.client.clock import Deadline
from barnabas.client.metadata import TopicPartition
from barnabas.client.produce.new_batch import split
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.records.batch import parse_header

Outcome = int | KafkaError
"""The outcome of a batch: the offset of its first record (-1 if the broker does not send it), or its error."""

Report = Callable[[int, int, Outcome], None]
"""Gets the first record, the number of records, and their outcome: several times for a batch that was split."""


@dataclass(slots=True, eq=False)
class PendingBatch:
    """A sealed batch until it is acknowledged. `first`: the index of its first record in the enqueued batch."""

    data: bytearray
    deadline: Deadline
    report: Report | None = None
    first: int = 0
    is_under_way: bool = False

    @property
    def count(self) -> int:
        """The number of records."""
        return parse_header(self.data).records_count

    def complete(self, outcome: Outcome) -> None:
        """Report the outcome to the batch's callback, if there is one."""
        if self.report is not None:
            self.report(self.first, self.count, outcome)


@dataclass(slots=True, eq=False)
class PartitionQueue:
    """The queue of one partition. `failure` is the error for which it pauses, else None."""

    where: TopicPartition
    next_sequence: int = 0
    failure: KafkaError | None = None
    batches: deque[PendingBatch] = field(default_factory=deque)
    under_way: int = 0

    def next(self) -> PendingBatch | None:
        """Return the batch that may be sent now, None without one."""
        if self.failure is not None or self.under_way == len(self.batches):
            return None
        return self.batches[self.under_way]

    def start(self, batch: PendingBatch) -> None:
        """Mark the batch as in flight."""
        self.under_way += 1
        batch.is_under_way = True

    def stop(self, batch: PendingBatch) -> None:
        """Mark the batch as not in flight: it was answered, or its connection is lost."""
        self.under_way -= 1
        batch.is_under_way = False

    def halve(self, batch: PendingBatch) -> int:
        """Replace a batch by two halves, with the same sequence numbers; return the number of additional bytes.

        Not for a batch that is in flight.
        """
        left, right = (PendingBatch(data, batch.deadline, batch.report) for data in split(batch.data))
        left.first, right.first = batch.first, batch.first + left.count
        index = self.batches.index(batch)
        self.batches[index] = right
        self.batches.insert(index, left)
        return len(left.data) + len(right.data) - len(batch.data)

    def drop_from(self, batch: PendingBatch) -> list[PendingBatch]:
        """Remove the batch, and all after it except those in flight, whose responses are outstanding."""
        at = self.batches.index(batch)
        dropped = [each for each in list(self.batches)[at:] if each is batch or not each.is_under_way]
        for each in dropped:
            self.batches.remove(each)
        if not self.batches:
            self.failure = None
        return dropped
