"""The message of a task to the driver: its rows are prepared, or there was nothing left to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from pyspark_barnabas.commit.identity import RunToken


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """A task's open transaction, all of whose records are acknowledged: any client that knows this may end it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class WrittenPartition(NamedTuple):
    """A partition that a task wrote, and its producer's next sequence number there."""

    topic: str
    partition: int
    next_sequence: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A task wrote its rows. One without rows began no transaction, as an empty one could not be committed.

    rows, digest: how many, and their order-independent 64-bit hash: the sums over the tasks are in the ledger.
    written: each partition that has rows of the task; needed in atomic mode, where all tasks are one producer.
    sent_bytes, began_ms, prepared_ms: for the log; the times are from the clock of the task's machine.
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
    """The query and run of the messages: commit() and abort() learn them here, as Spark gives them neither."""

    query_id: str
    run_id: str
    run: RunToken


def author(messages: Iterable[Message | None]) -> Author | None:
    """Return the author of the messages, from the first that there is; None if no task sent one.

    `committing` checks that all have the same author, and refuses a batch if they do not.
    """
    first = next((each for each in messages if each is not None), None)
    return None if first is None else Author(first.query_id, first.run_id, first.run)
