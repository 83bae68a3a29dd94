"""The kinds of events: a table, and nothing else. Each has a name, and says what happened and
which facts come with it.

A kind is told where it happens, by exactly one part of the broker. Those at which a test may stop or end the broker say
so: at some of them nothing can be held up, since what follows is one step with what came before.
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of event. facts: names of what is told with it."""

    name: str
    what: str
    facts: tuple[str, ...]
    may_crash: bool = False
    """Whether it is a step at which a test may have the broker killed."""
    may_pause: bool = False
    """Whether it is a step at which what goes on may be held up until a test lets it go on."""


TRANSACTION_PREPARED = Kind(
    "transaction.prepared",
    "the end of a transaction is decided and in the log; no marker is written yet",
    ("transactional_id", "producer_id", "producer_epoch", "is_commit", "partitions_count"),
    may_crash=True,
    may_pause=True,
)
MARKER_WRITING = Kind(
    "transaction.marker_writing",
    "a marker is about to be written; position counts the transaction's partitions from 1",
    ("transactional_id", "producer_id", "producer_epoch", "is_commit", "topic", "partition", "position"),
    may_crash=True,
    may_pause=True,
)
MARKER_WRITTEN = Kind(
    "transaction.marker_written",
    "the marker is in the partition's log; readers do not see it yet",
    ("transactional_id", "producer_id", "producer_epoch", "is_commit", "topic", "partition", "position"),
    may_crash=True,
    may_pause=True,
)
TRANSACTION_MARKED = Kind(
    "transaction.marked",
    "every partition has its marker, and readers see the end; the transaction is not complete yet",
    ("transactional_id", "producer_id", "producer_epoch", "is_commit"),
    may_crash=True,
    may_pause=True,
)

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (TRANSACTION_PREPARED, MARKER_WRITING, MARKER_WRITTEN, TRANSACTION_MARKED)
}
"""All of them, by name, in the order in which the documentation lists them."""
