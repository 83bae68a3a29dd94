"""write(): whether a task writes its rows, and under which transactional id.

An id is used again only when the ledger shows a later batch than the one it was decided in: a first attempt takes the
id with which its partition won *two* batches ago, in the same run; every other attempt makes an id of its own. So an id
has one user at a time, a run needs about two per partition, and no id of the last decision is touched before it is
proven settled: one batch ago would be too soon, as a run that was overtaken between the end of its commit and Spark's
own record of it would move on ids that its successor still has to look at.
"""

from __future__ import annotations

from pyspark_barnabas.commit.batch import Batch, first_look
from pyspark_barnabas.commit.identity import TaskId, parse_task_id
from pyspark_barnabas.commit.ledger import Ledger
from pyspark_barnabas.commit.states import Act, Call, Refuse, on
from pyspark_barnabas.commit.steps import Fail, Produce, SkipAndDrain, WriteStep


def decide_write(batch: Batch, ledger: Ledger, *, partition: int, attempt_number: int, task_attempt: int) -> WriteStep:
    """What a task does with its rows.

    attempt_number counts the attempts at this partition in this batch, from 0; task_attempt is unique in the
    application.
    """
    state, sentence = first_look(batch, ledger)
    answer = on(state, Call.WRITE)
    if isinstance(answer, Refuse):
        return Fail(sentence)
    if answer.act is Act.SKIP_AND_DRAIN:
        return SkipAndDrain()
    if batch.is_atomic:
        return _share(batch, ledger, partition, attempt_number)
    inherited = _inherited_id(batch, ledger, partition) if attempt_number == 0 else None
    return Produce(inherited or str(TaskId(batch.sink.prefix, batch.run, partition, task_attempt)))


def _share(batch: Batch, ledger: Ledger, partition: int, attempt_number: int) -> WriteStep:
    if attempt_number > 0:
        return Fail(
            f"a task of batch {batch.batch_id} failed (partition {partition}), and in atomic mode its rows cannot be"
            " taken out of the transaction that all tasks share: the batch is thrown away. Restart the query; with"
            " spark.task.maxFailures=1 it stops without trying again"
        )
    return Produce(batch.sink.driver_id, known=batch.run, written=ledger.written(batch.run))


def _inherited_id(batch: Batch, ledger: Ledger, partition: int) -> str | None:
    record = ledger.of(batch.sink.query_id, batch.batch_id - 2)
    if record is None or record.run != batch.run:
        return None
    for transaction in record.transactions:
        task = parse_task_id(transaction.transactional_id)
        if task is not None and (task.prefix, task.run, task.partition) == (batch.sink.prefix, batch.run, partition):
            return transaction.transactional_id
    return None
