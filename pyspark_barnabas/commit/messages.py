"""What a task tells the driver: that its rows are prepared, or that there was nothing left to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from pyspark_barnabas.commit.identity import RunToken


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """A task's open transaction, all of whose records are acknowledged: whoever knows this may end it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class WrittenPartition(NamedTuple):
    """A partition that a task wrote, and the sequence number its producer goes on with there."""

    topic: str
    partition: int
    next_sequence: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task wrote its rows. One without rows began no transaction, as an empty one could not be committed.

    rows, digest: how many, and their order-independent 64-bit hash: the sums over the tasks stand in the ledger.
    written: each partition that has rows of the task; needed in atomic mode, where all tasks are one producer.
    sent_bytes, began_ms, prepared_ms: for the log; the moments are of the clock where the task ran.
    """

    query_id: str
    run_id: str
    run: RunToken
    batch_id: int
    partition: int
    transaction: PreparedTransaction | None
    rows: int = 0
    digest: int = 0
    written: tuple[WrittenPartition, ...] = ()
    sent_bytes: int = 0
    began_ms: int = 0
    prepared_ms: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A task found its batch decided, and read its rows without writing them."""

    query_id: str
    run_id: str
    run: RunToken
    batch_id: int
    partition: int


Message = Prepared | Skipped


class Author(NamedTuple):
    """Whose messages they are: how commit() and abort(), which Spark tells neither, learn it."""

    query_id: str
    run_id: str
    run: RunToken


def author(messages: Iterable[Message | None]) -> Author | None:
    """Who wrote the messages, by the first there is; None when no task got as far as one.

    That all have the same author is looked at by `committing`, which refuses a batch where they have not.
    """
    first = next((each for each in messages if each is not None), None)
    return None if first is None else Author(first.query_id, first.run_id, first.run)
