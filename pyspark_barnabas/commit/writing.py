"""write(): whether a task writes its rows, and under which transactional id.

An id belongs to the process that made it, which runs one task at a time, and no other process writes with it: so a task
that sleeps, of any attempt at the task or at its stage, blocks only its own transaction. A process uses an id again
only when the ledger shows two later batches of the run than the one it was decided in. One would be too soon: a run
that was fenced between the end of its commit and Spark's own record of it would change ids that its successor still
has to describe. So a run needs about two ids for each process; an id that was not decided is left to the sweep.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pyspark_barnabas.commit.batch import Batch, first_look
from pyspark_barnabas.commit.identity import TaskId
from pyspark_barnabas.commit.ledger import Ledger
from pyspark_barnabas.commit.states import Act, Call, Refuse, on
from pyspark_barnabas.commit.steps import Fail, Produce, SkipAndDrain, WriteStep


class OwnId(NamedTuple):
    """A transactional id that this process made for this run, and the batch in which it last used it."""

    transactional_id: str
    batch_id: int


def decide_write(
    batch: Batch,
    ledger: Ledger,
    *,
    partition: int,
    attempt_number: int,
    task_attempt: int,
    own_ids: Iterable[OwnId] = (),
) -> WriteStep:
    """Return what a task does with its rows.

    attempt_number counts the attempts at this partition in this batch, from 0; task_attempt is unique in the
    application. own_ids: those of this process under this prefix and run, at this cluster; there may be none.
    """
    state, sentence = first_look(batch, ledger)
    answer = on(state, Call.WRITE)
    if isinstance(answer, Refuse):
        return Fail(sentence)
    if answer.act is Act.SKIP_AND_DRAIN:
        return SkipAndDrain()
    if batch.is_atomic:
        return _share(batch, ledger, partition, attempt_number)
    free = next((each.transactional_id for each in own_ids if _is_free(each, batch, ledger)), None)
    return Produce(free or str(TaskId(batch.sink.prefix, batch.run, partition, task_attempt)))


def _share(batch: Batch, ledger: Ledger, partition: int, attempt_number: int) -> WriteStep:
    if attempt_number > 0:
        return Fail(
            f"a task of batch {batch.batch_id} failed (partition {partition}), and in atomic mode its rows cannot be "
            "removed from the transaction that all tasks share: the batch is discarded. Restart the query; with"
            " spark.task.maxFailures=1 it stops without a retry"
        )
    return Produce(batch.sink.driver_id, known=batch.run, written=ledger.written(batch.run))


def _is_free(own: OwnId, batch: Batch, ledger: Ledger) -> bool:
    """Return whether the id's last transaction was decided, by this run, at least two batches ago."""
    if own.batch_id > batch.batch_id - 2:
        return False
    record = ledger.of(batch.sink.query_id, own.batch_id)
    return (
        record is not None
        and record.run == batch.run
        and any(each.transactional_id == own.transactional_id for each in record.transactions)
    )
