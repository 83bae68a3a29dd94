"""The batches of one partition on their way, oldest first. Pure: it sends nothing and decides nothing.

Invariant: batches leave in the order they came, so what is under way is at the front, but for one that failed and waits
there until nothing behind it is under way any more.
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
"""What became of a batch: the offset of its first record (-1 where the broker does not tell), or why it was lost."""

Report = Callable[[int, int, Outcome], None]
"""Gets the first record, the number of records, and their outcome: several times for a batch that was halved."""


@dataclass(slots=True, eq=False)
class PendingBatch:
    """A sealed batch until it is acknowledged. `first`: which record of the batch that was handed in is its first."""

    data: bytearray
    deadline: Deadline
    report: Report | None = None
    first: int = 0
    is_under_way: bool = False

    @property
    def count(self) -> int:
        """How many records it holds."""
        return parse_header(self.data).records_count

    def tell(self, outcome: Outcome) -> None:
        """Report the outcome to whoever wants to know."""
        if self.report is not None:
            self.report(self.first, self.count, outcome)


@dataclass(slots=True, eq=False)
class PartitionQueue:
    """One partition. `failure` is why it stands still, None while it does not."""

    where: TopicPartition
    next_sequence: int = 0
    failure: KafkaError | None = None
    batches: deque[PendingBatch] = field(default_factory=deque)
    under_way: int = 0

    def next(self) -> PendingBatch | None:
        """The batch that may be sent now, if there is one."""
        if self.failure is not None or self.under_way == len(self.batches):
            return None
        return self.batches[self.under_way]

    def start(self, batch: PendingBatch) -> None:
        """The batch is under way."""
        self.under_way += 1
        batch.is_under_way = True

    def stop(self, batch: PendingBatch) -> None:
        """The batch is not under way any more: it was answered, or its connection is lost."""
        self.under_way -= 1
        batch.is_under_way = False

    def halve(self, batch: PendingBatch) -> int:
        """Put two of half the records in its place, under the same sequence numbers; by how many bytes there are more.

        Not for a batch that is under way.
        """
        left, right = (PendingBatch(data, batch.deadline, batch.report) for data in split(batch.data))
        left.first, right.first = batch.first, batch.first + left.count
        index = self.batches.index(batch)
        self.batches[index] = right
        self.batches.insert(index, left)
        return len(left.data) + len(right.data) - len(batch.data)

    def drop_from(self, batch: PendingBatch) -> list[PendingBatch]:
        """Take the batch out, and all behind it but those under way, whose answers are still to come."""
        at = self.batches.index(batch)
        dropped = [each for each in list(self.batches)[at:] if each is batch or not each.is_under_way]
        for each in dropped:
            self.batches.remove(each)
        if not self.batches:
            self.failure = None
        return dropped
