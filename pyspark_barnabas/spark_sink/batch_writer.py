"""`df.write.format("barnabas")`: all rows or none.

A batch write is a query of one batch, with an id of its own: the user's idempotency key, or one that is drawn here.
This object is made once, in Spark's planner, and pickled both to the tasks and to whoever commits.

Its prefix is by default that of its topic, so that all writes to a topic share a ledger: the next one commits what a
write that was killed had decided and not finished. Of two at a time the later one takes over, and the earlier one
fails with a sentence and leaves nothing, unless it was decided already: those that shall run side by side are given a
`transactionalIdPrefix` each.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceArrowWriter

from pyspark_barnabas.commit.identity import batch_query_id
from pyspark_barnabas.options import OptionError, name, sink, text
from pyspark_barnabas.sink import driver, task
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.target.before import look_before_writing
from pyspark_barnabas.spark_sink import accepted_columns, task_context
from pyspark_barnabas.spark_sink.messages import TaskMessage, unwrap
from pyspark_barnabas.telling.user_errors import sentence_alone
from pyspark_barnabas.worker.worker_connections import SentToWorkers

_BATCH = 0


def default_prefix(options: Mapping[str, str]) -> str:
    """The prefix of a batch write that is given none: its topic's."""
    topic = name(options, "topic", longest=180)
    return "spark-write" if topic is None else f"spark-write-{topic}"


def new_batch_writer(options: dict[str, str], schema: Any, overwrite: bool) -> BatchWriter:
    """The writer of one `save()`; OptionError where it cannot be."""
    if overwrite:
        raise OptionError('a topic is added to and never overwritten: use mode("append")')
    settings = sink(options, default_prefix=default_prefix(options))
    key = text(options, "idempotencyKey")
    run = task_context.Run(batch_query_id(key or str(uuid.uuid4())), str(uuid.uuid4()), _BATCH, is_stream=False)
    chosen = accepted_columns.choose(accepted_columns.types_of(schema), settings.topic)
    look_before_writing(settings, chosen, is_stream=False)
    return BatchWriter(settings, run, chosen, may_be_repeated=bool(key))


class BatchWriter(SentToWorkers, DataSourceArrowWriter):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """One `save()`. may_be_repeated: it has a key, so that saving again is known for what it is."""

    def __init__(
        self, settings: SinkSettings, run: task_context.Run, chosen: tuple[str, ...], *, may_be_repeated: bool
    ) -> None:
        self._may_be_repeated = may_be_repeated
        self._settings = settings
        self._run = run
        self._columns = chosen

    @sentence_alone
    def write(self, iterator: Iterator[Any]) -> TaskMessage:
        """In a task: write its rows (pyarrow.RecordBatch) and leave their transaction open."""
        task_context.refuse_what_is_weaker(self._settings, self._run, task_context.properties())
        rows = accepted_columns.only(iterator, self._columns)
        return TaskMessage(task.write(self._settings, task_context.facts(self._run), rows))

    @sentence_alone
    def commit(self, messages: Sequence[TaskMessage | None]) -> None:
        """Where Spark's driver is: make the rows visible."""
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
        """Where Spark's driver is: throw away what was not decided."""
        driver.abort(self._settings, _BATCH, unwrap(messages), query_id=self._run.query_id, is_stream=False)

    def _without_key(self) -> str:
        """What is to be said of every failed commit(), as it may have failed after the decision."""
        query_id = self._run.query_id
        return (
            "This write has no idempotencyKey: saving again is another write, and doubles the rows if this one was"
            f" decided. See whether its ledger '__{self._settings.prefix_of(query_id)}.ledger' has a `decided` with the"
            f" key {query_id!r}: if so, its rows are visible, or will be with the next write under the prefix. With an"
            " idempotencyKey saving again is always right"
        )
