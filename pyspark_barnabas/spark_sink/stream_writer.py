"""`df.writeStream.format("barnabas")`: append and complete mode.

Spark creates this object twice in a batch, in two processes: one is pickled to the tasks, which call write(); the other
one commits. Neither knows query, run or batch, and neither sees the other: commit() learns all it needs from
the tasks' messages. There is always at least one message, as a batch without rows has a task, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark_barnabas.commit.messages import author
from pyspark_barnabas.options import stream_sink
from pyspark_barnabas.reporting.user_errors import sentence_alone
from pyspark_barnabas.sink import driver, task
from pyspark_barnabas.sink.checkpoint import read_checkpoint
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.target.checks_before_writing import look_before_writing
from pyspark_barnabas.spark_sink import accepted_columns, task_context
from pyspark_barnabas.spark_sink.messages import TaskMessage, unwrap
from pyspark_barnabas.worker.worker_connections import SentToWorkers

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
else:
    try:
        from pyspark.sql.datasource import DataSourceStreamArrowWriter
    except ImportError:  # Spark 4.0
        from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter

        class DataSourceStreamArrowWriter(DataSourceStreamWriter, DataSourceArrowWriter):
            """The class that Spark 4.1 has under this name. 4.0 gives Arrow batches to a writer that is both."""


class StreamWriter(SentToWorkers, DataSourceStreamArrowWriter):  # type: ignore[misc]  # because pyspark is not there for the checks
    """One query's sink. Options, columns and the cluster are checked here, before any task runs."""

    def __init__(self, options: dict[str, str], schema: Any) -> None:
        self._options = options
        self._settings = stream_sink(options)
        self._columns = accepted_columns.choose(accepted_columns.types_of(schema), self._settings.topic)
        if not task_context.is_committing_process():
            look_before_writing(self._settings, self._columns)

    @sentence_alone
    def write(self, iterator: Iterator[Any]) -> TaskMessage:
        """Write a task's rows (pyarrow.RecordBatch) and leave their transaction open."""
        properties = task_context.properties()
        run = task_context.run_of(properties)
        task_context.refuse_what_is_weaker(self._settings, run, properties)
        checkpoint = task_context.checkpoint_location(self._options, properties)
        rows = accepted_columns.only(iterator, self._columns)
        return TaskMessage(task.write(self._settings, task_context.facts(run), rows), checkpoint)

    @sentence_alone
    def commit(self, messages: Sequence[TaskMessage | None], batchId: int) -> None:
        """Make the batch visible; called where Spark's driver is."""
        sent = [each for each in messages if each is not None]
        if not sent or len(sent) < len(messages):
            raise SinkFailed(
                f"Spark commits batch {batchId} without a message from each of its tasks, as the continuous trigger"
                " does: nothing was decided, use trigger(processingTime=...)"
            )
        first = sent[0]
        checkpoint = None if first.checkpoint is None else read_checkpoint(first.checkpoint, batchId)
        driver.commit(
            self._settings,
            batchId,
            [each.message for each in sent],
            query_id=first.message.query_id,
            checkpoint=checkpoint,
        )

    @sentence_alone
    def abort(self, messages: Sequence[TaskMessage | None], batchId: int) -> None:
        """Discard what was not decided; called where Spark's driver is, after a failed commit(), too."""
        protocol = unwrap(messages)
        who = author(protocol)
        if who is not None:
            driver.abort(self._settings, batchId, protocol, query_id=who.query_id)
