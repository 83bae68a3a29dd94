"""`df.write.format("barnabas")`: all rows or none.

A batch write is a query of one batch, with a separate id: the user's idempotency key, or one that is generated here.
This object is created once, in Spark's planner, and pickled both to the tasks and to the process that commits.

Its prefix is by default that of its topic, so that all writes to a topic share a ledger: the next write commits what a
killed write had decided and not finished. Of two concurrent writes the later one takes over, and the earlier one
fails with a sentence and leaves nothing, unless it was decided already: writes that have to run side by side need a
separate `transactionalIdPrefix` each.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceArrowWriter

from pyspark_barnabas.commit.identity import batch_query_id
from pyspark_barnabas.options import OptionError, name, sink, text
from pyspark_barnabas.reporting.user_errors import sentence_alone
from pyspark_barnabas.sink import driver, task
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.target.checks_before_writing import look_before_writing
from pyspark_barnabas.spark_sink import accepted_columns, task_context
from pyspark_barnabas.spark_sink.messages import TaskMessage, unwrap
from pyspark_barnabas.worker.worker_connections import SentToWorkers

_BATCH = 0


def default_prefix(options: Mapping[str, str]) -> str:
    """Return the prefix of a batch write without one: that of its topic."""
    topic = name(options, "topic", longest=180)
    return "spark-write" if topic is None else f"spark-write-{topic}"


def new_batch_writer(options: dict[str, str], schema: Any, overwrite: bool) -> BatchWriter:
    """Create the writer of one `save()`; raise OptionError if that is not possible."""
    if overwrite:
        raise OptionError('the sink appends to a topic and never overwrites it: use mode("append")')
    settings = sink(options, default_prefix=default_prefix(options))
    key = text(options, "idempotencyKey")
    run = task_context.BatchRun(batch_query_id(key or str(uuid.uuid4())), str(uuid.uuid4()), _BATCH, is_stream=False)
    chosen = accepted_columns.choose(accepted_columns.types_of(schema), settings.topic)
    look_before_writing(settings, chosen, is_stream=False)
    return BatchWriter(settings, run, chosen, may_be_repeated=bool(key))


class BatchWriter(SentToWorkers, DataSourceArrowWriter):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """One `save()`. may_be_repeated: it has a key, so that a repeated save is recognized."""

    def __init__(
        self, settings: SinkSettings, run: task_context.BatchRun, chosen: tuple[str, ...], *, may_be_repeated: bool
    ) -> None:
        self._may_be_repeated = may_be_repeated
        self._settings = settings
        self._run = run
        self._columns = chosen

    @sentence_alone
    def write(self, iterator: Iterator[Any]) -> TaskMessage:
        """Write a task's rows (pyarrow.RecordBatch) and leave their transaction open."""
        task_context.refuse_what_is_weaker(self._settings, self._run, task_context.properties())
        rows = accepted_columns.only(iterator, self._columns)
        return TaskMessage(task.write(self._settings, task_context.facts(self._run), rows))

    @sentence_alone
    def commit(self, messages: Sequence[TaskMessage | None]) -> None:
        """Make the rows visible; called where Spark's driver is."""
        protocol = [each for each in unwrap(messages) if each is not None]
        if len(protocol) < len(messages):
            raise SinkFailed("Spark commits a write without a message from each of its tasks: nothing was decided")
        try:
            driver.commit(self._settings, _BATCH, protocol, query_id=self._run.query_id, is_stream=False)
        except SinkFailed as error:
            if self._may_be_repeated:
                raise
            raise SinkFailed(f"{error}. {self._without_key()}") from error

    @sentence_alone
    def abort(self, messages: Sequence[TaskMessage | None]) -> None:
        """Discard what was not decided; called where Spark's driver is."""
        driver.abort(self._settings, _BATCH, unwrap(messages), query_id=self._run.query_id, is_stream=False)

    def _without_key(self) -> str:
        """Return the advice for every failed commit(), as it may have failed after the decision."""
        query_id = self._run.query_id
        return (
            "This write has no idempotencyKey: saving again is another write, and writes the rows twice if this one "
            f"was decided. Check whether its ledger '__{self._settings.prefix_of(query_id)}.ledger' has a `decided` "
            "with the"
            f" key {query_id!r}: if so, its rows are visible, or will be with the next write under the prefix. With "
            "an idempotencyKey saving again is always safe"
        )
