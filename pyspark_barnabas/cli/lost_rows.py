"""The rows of a decided batch with an aborted transaction that the log still has, and whether they are complete. Pure.

The rows of an aborted transaction stay in the log, where consumers do not see them, until retention or compaction
removes them. A producer id and epoch stand for exactly one transaction, as every task begins by getting a new epoch;
its marker says whether the transaction counts. The ledger proves that nothing is missing: the count and digest of the
visible and the aborted rows together have to be those of the decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.client.metadata import TopicPartition
from pyspark_barnabas.cli.formatting import counted, moment
from pyspark_barnabas.commit.ledger import Decided, Ledger, SourceOffset
from pyspark_barnabas.rows.digest import MODULUS

Producer = tuple[int, int]
"""A producer id and its epoch."""


@dataclass(slots=True)
class LostRows:
    """Some rows of a partition. first, last: the offsets of their batches."""

    count: int = 0
    digest: int = 0
    first: int = -1
    last: int = -1

    def add(self, other: LostRows) -> None:
        """Add the other rows, in any order: markers come in another order than the rows that they end."""
        self.count += other.count
        self.digest = (self.digest + other.digest) % MODULUS
        self.first = other.first if self.first < 0 else min(self.first, other.first)
        self.last = max(self.last, other.last)


@dataclass(slots=True)
class PartitionRows:
    """The rows that a partition has of the batch: visible to consumers, aborted, and not ended."""

    visible: LostRows = field(default_factory=LostRows)
    aborted: LostRows = field(default_factory=LostRows)
    aborted_producers: set[Producer] = field(default_factory=set)
    unended: dict[Producer, LostRows] = field(default_factory=dict)

    def data(self, producer: Producer, rows: LostRows) -> None:
        """Add a batch of records of one of the batch's transactions."""
        self.unended.setdefault(producer, LostRows()).add(rows)

    def marker(self, producer_id: int, *, is_commit: bool) -> None:
        """End what the producer has open here, by its next marker. Its epoch may be one higher than the rows' epoch."""
        for producer in [each for each in self.unended if each[0] == producer_id]:
            rows = self.unended.pop(producer)
            (self.visible if is_commit else self.aborted).add(rows)
            if not is_commit:
                self.aborted_producers.add(producer)


Found = dict[TopicPartition, PartitionRows]


def producers_of(decision: Decided) -> frozenset[Producer]:
    """Return the producers that wrote the batch."""
    return frozenset((each.producer_id, each.producer_epoch) for each in decision.transactions)


def why_not(decision: Decided, found: Found) -> str:
    """Return why the batch cannot be written again from the log; empty if it can, or if none of it is missing."""
    count = sum(each.visible.count + each.aborted.count for each in found.values())
    digest = sum(each.visible.digest + each.aborted.digest for each in found.values()) % MODULUS
    if any(each.unended for each in found.values()):
        return "one of its transactions has not ended in every partition: try again"
    if (count, digest) == (decision.rows, decision.digest):
        return ""
    if count == decision.rows:
        return f"these topics have {count} rows of it, but their digest differs from the ledger's: they were changed"
    return (
        f"these topics have {count} of its {decision.rows} rows: give all topics that the query writes to (--topic). "
        "If all are given, retention or compaction has removed the rest: write it by hand from the source offsets,"
        f" then --settle {decision.query_id}:{decision.batch_id} lets the query continue"
    )


def missing(found: Found) -> int:
    """Return how many rows consumers do not see."""
    return sum(each.aborted.count for each in found.values())


def visible(found: Found) -> int:
    """Return how many rows consumers see."""
    return sum(each.visible.count for each in found.values())


def describe(decision: Decided, decided_ms: int, ledger: Ledger, found: Found) -> list[str]:
    """Return the lines that `recover` prints of a batch before it says what may be done."""
    lines = [
        f"batch {decision.batch_id} of query {decision.query_id}: {counted(decision.rows, 'row')},"
        f" digest {decision.digest:016x}, decided {moment(decided_ms)} by {decision.run}"
    ]
    lines += [f"  source {each}" for each in source_ranges(decision, ledger)]
    for (topic, partition), each in sorted(found.items()):
        line = f"  {topic}-{partition}: {counted(each.visible.count, 'row')} visible"
        if each.aborted.count:
            line += f", {each.aborted.count} missing, aborted at offsets {each.aborted.first} to"
            line += f" {each.aborted.last}"
        if each.visible.count or each.aborted.count or each.unended:
            lines.append(line)
    return lines


def source_ranges(decision: Decided, ledger: Ledger) -> list[str]:
    """Return the source offsets from which the batch was made, as far as the ledger has them; the end is exclusive."""
    before = [each for each in ledger.decided(decision.query_id) if each.batch_id == decision.batch_id - 1]
    starts: dict[TopicPartition, int] = {
        (each.topic, each.partition): each.offset for one in before for each in one.offsets
    }
    return [_range(each, starts) for each in decision.offsets]


def _range(end: SourceOffset, starts: dict[TopicPartition, int]) -> str:
    start = starts.get((end.topic, end.partition))
    return (
        f"{end.topic}-{end.partition}: offsets {'the start of the query' if start is None else start} to {end.offset}"
    )
