"""Who is who: sinks, runs, and the transactional ids of their tasks.

    <prefix>.driver                                     one per sink: writes the ledger, and fences the driver before
    <prefix>.<run token>.<partition>.<task attempt>     one per task: `shop.4711-2.0.83`

The *run token* is the producer id and epoch that InitProducerId("<prefix>.driver") gave, asked for once per run. It is
fixed for the run, as its transactions are spoken in the older protocol (EndTxn up to v4), which raises no epoch. Tokens
are only ever compared for being equal: after its epochs are used up, or an id has expired, a token's producer id may be
lower than the one before.

The *task attempt* is Spark's task attempt id, which no other attempt of the application has; not the attempt number,
which every batch counts from 0: with it, a task that slept since the batch before would take the id, and so the
transaction, of a task of this one. What keeps the ids few all the same is `writing`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TASK = re.compile(r"(?P<prefix>.+)\.(?P<id>\d+)-(?P<epoch>\d+)\.(?P<partition>\d+)\.(?P<attempt>\d+)", re.DOTALL)

_RESCUE = "abandon-"


class RunToken(NamedTuple):
    """One run of a query: the producer that its driver is."""

    producer_id: int
    producer_epoch: int

    def __str__(self) -> str:
        return f"{self.producer_id}-{self.producer_epoch}"


class TaskId(NamedTuple):
    """The parts of a task's transactional id; str() gives the id."""

    prefix: str
    run: RunToken
    partition: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.prefix}.{self.run}.{self.partition}.{self.attempt}"


class Sink(NamedTuple):
    """Whose batches are counted: a query under a prefix.

    Spark keeps the query's id in its checkpoint, so a new checkpoint is a new sink that begins to count anew. A batch
    write has the id that `batch_query_id` makes.
    """

    prefix: str
    query_id: str

    @property
    def driver_id(self) -> str:
        """The transactional id of the driver."""
        return driver_id(self.prefix)


def driver_id(prefix: str) -> str:
    """The transactional id that the drivers under a prefix take from each other."""
    return f"{prefix}.driver"


def parse_task_id(transactional_id: str) -> TaskId | None:
    """The parts of a task's id; None for any other. A prefix may have dots: the last three parts are never its own."""
    found = _TASK.fullmatch(transactional_id)
    if found is None:
        return None
    run = RunToken(int(found["id"]), int(found["epoch"]))
    task = TaskId(found["prefix"], run, int(found["partition"]), int(found["attempt"]))
    return task if str(task) == transactional_id else None  # 007 is not how we write 7


def task_pattern(prefix: str) -> str:
    """What ListTransactions is asked for (KIP-1152, RE2): all tasks under a prefix, of any run."""
    return rf"^{re.escape(prefix)}\.[0-9]+-[0-9]+\.[0-9]+\.[0-9]+$"


def rescue_run_id(run: RunToken) -> str:
    """The run_id of `ledger abandon` and `recover`, which take the token as a run does; Spark makes up no such id."""
    return f"{_RESCUE}{run}"


def is_rescue(run_id: str) -> bool:
    """Whether it was one of these commands, and no run of a query."""
    return run_id.startswith(_RESCUE)


def batch_query_id(idempotency_key: str) -> str:
    """What stands for the query in a batch write; without a key of the user's, a fresh one has to be made up."""
    return f"write:{idempotency_key}"
