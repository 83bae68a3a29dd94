"""Spark with the sink, in steps that may stop in between: drivers, task attempts, a checkpoint, a broker.

A *run* is one start of the query: it reads the checkpoint, has its tasks find or take the run's token and write,
commits, notes the batch in the checkpoint, continues. A crash needs no separate step: a run or a task that is never
scheduled again is dead, one that is scheduled later was frozen. The steps of several runs, and of tasks whose run is
over, mix in any order. A task that waits has no step until what it waits for stands in the ledger, or it has waited
too long, which is a fault.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.ledger import Ledger, LedgerRecord
from pyspark_barnabas.commit.messages import Message, PreparedTransaction
from pyspark_barnabas.commit.opening import OpeningView
from pyspark_barnabas.commit.prepared_state import View
from pyspark_barnabas.commit.writing import OwnId
from tests.support.commit_model.coordinator import Broker

PREFIX, QUERY, NEW_QUERY = "p", "q", "new"
DRIVER = f"{PREFIX}.driver"


class Task(NamedTuple):
    """An attempt at a partition. Where it stands: open, take, register, end register, init, write, or over."""

    batch_id: int
    partition: int
    attempt_number: int
    task_attempt: int
    process: int
    """One task at a time runs in it; no other process knows an id that it made."""
    at: str = "open"
    opening: OpeningView = OpeningView()
    """What it saw so far; its ledger is None, except in ways that do not read again."""
    token: RunToken = RunToken(-1, -1)
    transactional_id: str = ""
    producer: tuple[int, int] = (-1, -1)
    sequence: int = 0


class Operation(NamedTuple):
    """A request that a step of the protocol consists of."""

    kind: str
    transaction: PreparedTransaction | None = None
    record: LedgerRecord | None = None
    transactional_id: str = ""


class Run(NamedTuple):
    """One start of the query. At: plan, tasks, commit, note, abort, over. The token is that of the messages."""

    run_id: str
    at: str = "plan"
    query_id: str = QUERY
    token: RunToken = RunToken(-1, -1)
    batch_id: int = -1
    tasks: tuple[Task, ...] = ()
    messages: tuple[Message | None, ...] = ()
    task_attempts: int = 0
    own_ids: tuple[tuple[int, OwnId], ...] = ()
    """The ids that each process made, and used last in which batch."""
    # What commit() or abort() has seen so far, and the rest of its present step.
    ledger: Ledger | None = None
    described: tuple[tuple[str, View | None], ...] = ()
    listed: frozenset[str] | None = None
    driver: View | None = None
    is_fenced: bool = False
    is_swept: bool = False
    operations: tuple[Operation, ...] = ()
    failure: str = ""

    def forget(self) -> Run:
        """Begin a call with nothing seen."""
        return self._replace(
            ledger=None, described=(), listed=None, driver=None, is_fenced=False, is_swept=False, operations=()
        )


class Faults(NamedTuple):
    """How much may still go wrong."""

    starts: int = 0  # further runs
    raises: int = 0  # commit() raises, in the middle of anything; abort() follows
    retries: int = 0  # a task is declared lost, and retried
    restages: int = 0  # its whole stage is: the attempts are counted from 0
    timeouts: int = 0  # a transaction's time is up
    impatience: int = 0  # a task has waited too long for its run's token
    lost_answers: int = 0  # nobody answers the end with which a task registers the token
    expiries: int = 0  # transactional ids that ended are forgotten, but for those of the last decision
    preemptions: int = 0  # a runnable process is stopped


class World(NamedTuple):
    """Everything. Equal worlds have equal futures."""

    broker: Broker
    runs: tuple[Run, ...]
    faults: Faults
    noted: tuple[tuple[str, int], ...] = ()
    """The last batch that the commit log of each query's checkpoint has."""
    in_flight: RunToken | None = None
    """An EndTxn(commit) of this driver whose sender gave up waiting: it may arrive yet."""
    last: tuple[int, int] = (0, -1)
    """Who took the last step: (run, its task or -1 for the driver)."""

    def last_noted(self, query_id: str) -> int:
        return dict(self.noted).get(query_id, -1)


class Scenario(NamedTuple):
    """How large the world is. Batches are numbered from 0."""

    faults: Faults
    partitions: int = 2
    batches: int = 2
    is_atomic: bool = False
    has_new_checkpoint: bool = False
    """Whether a further start may also be one with a new checkpoint, which no later start undoes."""
    is_stream: bool = True
    """Otherwise each start is a batch write, of one batch: with the same idempotency key, or with another one."""
