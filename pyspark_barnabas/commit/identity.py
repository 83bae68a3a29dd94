"""The identities of sinks and runs, and the transactional ids of their tasks.

    <prefix>.driver                                     one per sink: writes the ledger, and fences the driver before
    <prefix>.<run token>.<partition>.<task attempt>     one per task: `shop.4711-2.0.83`

The *run token* is the producer id and epoch that InitProducerId("<prefix>.driver") returned, requested once per run. It
is fixed for the run, as its transactions use the older protocol (EndTxn up to v4), which raises no epoch. Tokens
are only ever compared for equality: after its epochs are used up, or an id has expired, a token's producer id may be
lower than the one before.

The *task attempt* is Spark's task attempt id, which no other attempt of the application has; not the attempt number,
which every batch counts from 0: with it, a task that slept since the batch before would take the id, and so the
transaction, of a task of this one. `writing` nevertheless limits the number of ids.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TASK = re.compile(r"(?P<prefix>.+)\.(?P<id>\d+)-(?P<epoch>\d+)\.(?P<partition>\d+)\.(?P<attempt>\d+)", re.DOTALL)

_RESCUE = "abandon-"


class RunToken(NamedTuple):
    """One run of a query, identified by the producer id and epoch of its driver."""

    producer_id: int
    producer_epoch: int

    def __str__(self) -> str:
        return f"{self.producer_id}-{self.producer_epoch}"


class TaskId(NamedTuple):
    """The parts of a task's transactional id; str() returns the id."""

    prefix: str
    run: RunToken
    partition: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.prefix}.{self.run}.{self.partition}.{self.attempt}"


class Sink(NamedTuple):
    """The scope in which batches are counted: a query under a prefix.

    Spark stores the query's id in its checkpoint, so a new checkpoint is a new sink, whose batches are counted from the
    beginning. A batch write has the id that `batch_query_id` makes.
    """

    prefix: str
    query_id: str

    @property
    def driver_id(self) -> str:
        """The transactional id of the driver."""
        return driver_id(self.prefix)


def driver_id(prefix: str) -> str:
    """Return the transactional id that the drivers under a prefix share: a new one fences the one before."""
    return f"{prefix}.driver"


def parse_task_id(transactional_id: str) -> TaskId | None:
    """Return the parts of a task's id; None for any other. A prefix may have dots; the last three parts follow it."""
    found = _TASK.fullmatch(transactional_id)
    if found is None:
        return None
    run = RunToken(int(found["id"]), int(found["epoch"]))
    task = TaskId(found["prefix"], run, int(found["partition"]), int(found["attempt"]))
    return task if str(task) == transactional_id else None  # 007 is not how we write 7


def task_pattern(prefix: str) -> str:
    """Return the pattern for ListTransactions (KIP-1152, RE2): all tasks under a prefix, of any run."""
    return rf"^{re.escape(prefix)}\.[0-9]+-[0-9]+\.[0-9]+\.[0-9]+$"


def rescue_run_id(run: RunToken) -> str:
    """Return the run_id of `ledger abandon` and `recover`, which take the token as a run does; Spark makes none."""
    return f"{_RESCUE}{run}"


def is_rescue(run_id: str) -> bool:
    """Return whether the run was one of these commands, and not a run of a query."""
    return run_id.startswith(_RESCUE)


def batch_query_id(idempotency_key: str) -> str:
    """Return the query id of a batch write; if the user gives no key, the caller has to generate a new one."""
    return f"write:{idempotency_key}"
