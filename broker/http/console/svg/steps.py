"""The steps at which a fault can be armed, in order: a table only.

The steps of a transaction are listed in the order of its commit. Invariant: every point of
broker/runtime/events/kinds.py is here, which a test checks.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.broker.runtime.events import kinds


class Lifeline(NamedTuple):
    """A participant. x: where it is drawn."""

    name: str
    x: int


PRODUCER = Lifeline("Producer", 70)
COORDINATOR = Lifeline("Coordinator: __transaction_state", 320)
PARTITIONS = Lifeline("Partitions", 640)
READERS = Lifeline("Readers (read_committed)", 900)
LIFELINES = (PRODUCER, COORDINATOR, PARTITIONS, READERS)


class SequenceMessage(NamedTuple):
    """A message between participants."""

    source: Lifeline
    target: Lifeline
    description: str


class SequenceStep(NamedTuple):
    """A point. state: of the record, if it is a record of `__transaction_state`."""

    point: str
    lifeline: Lifeline
    state: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """The facts known of it beforehand."""
        return {"state": self.state} if self.state else {}


def _record(state: str) -> tuple[SequenceStep, SequenceStep]:
    return (
        SequenceStep(kinds.TRANSACTION_WRITING.name, COORDINATOR, state),
        SequenceStep(kinds.TRANSACTION_WRITTEN.name, COORDINATOR, state),
    )


COMMIT: tuple[SequenceMessage | SequenceStep, ...] = (
    SequenceMessage(PRODUCER, COORDINATOR, "AddPartitionsToTxn"),
    *_record("Ongoing"),
    SequenceMessage(PRODUCER, PARTITIONS, "Produce: records that these readers do not see yet"),
    SequenceMessage(PRODUCER, COORDINATOR, "EndTxn"),
    *_record("PrepareCommit"),
    SequenceStep(kinds.TRANSACTION_PREPARED.name, COORDINATOR),
    SequenceMessage(COORDINATOR, PRODUCER, "the answer to EndTxn"),
    SequenceMessage(COORDINATOR, PARTITIONS, "WriteTxnMarkers"),
    SequenceStep(kinds.MARKER_WRITING.name, PARTITIONS),
    SequenceStep(kinds.MARKER_WRITTEN.name, PARTITIONS),
    SequenceMessage(PARTITIONS, READERS, "all records, in one step"),
    SequenceStep(kinds.TRANSACTION_MARKED.name, READERS),
    *_record("CompleteCommit"),
    SequenceStep(kinds.TRANSACTION_COMPLETED.name, COORDINATOR),
)
FOR_EACH_PARTITION = (kinds.MARKER_WRITING.name, kinds.MARKER_WRITTEN.name)
"""The first and the last step that are repeated for each partition."""
OTHERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "A group rebalances",
        (
            kinds.REBALANCE_BEGUN.name,
            kinds.GENERATION_FORMED.name,
            kinds.GROUP_WRITING.name,
            kinds.GROUP_WRITTEN.name,
            kinds.ASSIGNMENT_MADE.name,
            kinds.REBALANCE_COMPLETED.name,
        ),
    ),
    (
        "A member of a share group acknowledges records",
        (
            kinds.SHARE_WRITING.name,
            kinds.SHARE_WRITTEN.name,
            kinds.SHARE_ACKNOWLEDGED.name,
            kinds.SHARE_DEAD_LETTERS_WRITING.name,
            kinds.SHARE_DEAD_LETTERS_WRITTEN.name,
        ),
    ),
    ("A log is flushed", (kinds.FLUSH_BEGUN.name, kinds.FLUSH_ENDED.name)),
    ("A segment is full", (kinds.SEGMENT_ROLLING.name, kinds.SEGMENT_ROLLED.name)),
    ("A topic is created", (kinds.TOPIC_CREATING.name, kinds.TOPIC_CREATED.name)),
)
"""The other points, by activity."""
