"""`exactly_once(options)`, a function for foreachBatch: update mode, on the same commit protocol and ledger.

    df.writeStream.outputMode("update").foreachBatch(exactly_once({
        "kafka.bootstrap.servers": "…", "topic": "…", "checkpointLocation": checkpoint,
    })).option("checkpointLocation", checkpoint).start()

Spark gives its function neither the query's options nor, over Spark Connect, its ids. So the checkpoint is given twice,
and the query's id is read from it; if Spark provides the id, too, they are compared. The run's id is Spark's; over
Connect, where the function runs in a separate process for each run, it is generated at the first call there.

Each task's message is a row of mapInArrow's, of which collect() returns those of exactly one attempt per partition.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from barnabas.protocol.older_python import noted
from pyspark_barnabas.commit.messages import Message
from pyspark_barnabas.options import OptionError, stream_sink, text
from pyspark_barnabas.reporting.own_log import own_log
from pyspark_barnabas.reporting.user_errors import sentence_alone, sentence_alone_in_rows
from pyspark_barnabas.sink import driver, task
from pyspark_barnabas.sink.checkpoint import CheckpointOffsets, read_checkpoint, read_query_id
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.target.checks_before_writing import look_before_writing
from pyspark_barnabas.spark_sink import accepted_columns, task_context
from pyspark_barnabas.worker.worker_connections import SentToWorkers

_SEEN = ("sql.streaming.queryId", "spark.jobGroup.id", "__is_continuous_processing")
_SCHEMA = "message binary"


@sentence_alone
def exactly_once(options: Mapping[str, Any] | None = None, **more: Any) -> ExactlyOnce:
    """Return the function for foreachBatch, with the sink's options; valid Python names may be keyword arguments.

    `checkpointLocation` has to be the one that the query gets. Raise OptionError if an option is invalid.
    """
    named = {**(options or {}), **more}
    given = {
        name.lower(): str(value).lower() if isinstance(value, bool) else str(value) for name, value in named.items()
    }
    return ExactlyOnce(given)


class ExactlyOnce:
    """A query's sink, called with each batch. It is pickled to where Spark calls it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._settings = stream_sink(options)
        location = text(options, "checkpointLocation")
        if location is None:
            raise OptionError(
                "foreachBatch does not get the query's checkpoint: pass it to exactly_once as checkpointLocation"
            )
        self._checkpoint = location
        self._drawn_run_id: str | None = None
        self._ended_run_id: str | None = None

    @sentence_alone
    def __call__(self, frame: Any, batch_id: int) -> None:
        """Write the batch, exactly once. Spark calls this again with the same batch after a failure."""
        chosen = accepted_columns.choose(accepted_columns.types_of(frame.schema), self._settings.topic)
        checkpoint = read_checkpoint(self._checkpoint, batch_id)
        run = self._run(_local_properties(frame), batch_id)
        if run.run_id == self._ended_run_id:
            raise SinkFailed(
                "a batch of this run has failed, and in atomic mode (atomic=true) a run cannot repeat one: let the "
                "error end the query, then start the query again. Nothing was written"
            )
        look_before_writing(self._settings, chosen)
        try:
            self._write(frame, run, chosen, checkpoint)
        except Exception:
            # The rows are in the run's transaction. If they were aborted and sent again with the same numbers, they
            # would be dropped as duplicates.
            self._ended_run_id = run.run_id if self._settings.is_atomic else None
            raise

    def _write(
        self, frame: Any, run: task_context.BatchRun, chosen: tuple[str, ...], checkpoint: CheckpointOffsets
    ) -> None:
        prepare = _Prepare(self._settings, run, chosen)
        rows = frame.mapInArrow(prepare, _SCHEMA).collect()
        if not rows:  # an empty frame may have no tasks, and without a task the run is unknown
            rows = frame.sparkSession.range(0, 1, 1, 1).mapInArrow(prepare.nothing, _SCHEMA).collect()
        messages: list[Message] = [pickle.loads(row.message) for row in rows]  # nosec B301 - of our own tasks
        try:
            driver.commit(self._settings, run.batch_id, messages, query_id=run.query_id, checkpoint=checkpoint)
        except Exception as error:
            self._abort(run, messages, checkpoint, error)
            raise

    def _abort(
        self, run: task_context.BatchRun, messages: list[Message], checkpoint: CheckpointOffsets, error: Exception
    ) -> None:
        try:
            driver.abort(self._settings, run.batch_id, messages, query_id=run.query_id, checkpoint=checkpoint)
        except SinkFailed as another:
            note = f"The rows of the batch could not be aborted, either: {another}"
            if not noted(error, note):
                own_log().warning("%s", note)

    def _run(self, seen: Mapping[str, str], batch_id: int) -> task_context.BatchRun:
        query_id = read_query_id(self._checkpoint)
        running = seen.get("sql.streaming.queryId", query_id)
        if running != query_id:
            raise SinkFailed(
                f"the checkpoint {self._checkpoint} passed to exactly_once belongs to query {query_id}, but this is "
                f"query {running}: give both the same checkpointLocation. Nothing was written"
            )
        if self._drawn_run_id is None:
            self._drawn_run_id = str(uuid.uuid4())
        run_id = task_context.checked_run_id(seen.get("spark.jobGroup.id", self._drawn_run_id))
        return task_context.BatchRun(query_id, run_id, batch_id, is_stream=True)


class _Prepare(SentToWorkers):
    """The function that mapInArrow runs in each task: it writes the rows, and its only row is the task's message."""

    def __init__(self, settings: SinkSettings, run: task_context.BatchRun, chosen: tuple[str, ...]) -> None:
        self._settings = settings
        self._run = run
        self._columns = chosen

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return sentence_alone_in_rows(self._message_of(batches))

    def _message_of(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        task_context.refuse_what_is_weaker(self._settings, self._run, task_context.properties())
        rows = accepted_columns.only(batches, self._columns)
        message = task.write(self._settings, task_context.facts(self._run), rows)
        yield pyarrow.record_batch([pyarrow.array([pickle.dumps(message)], pyarrow.binary())], names=["message"])

    def nothing(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Do the same for a batch without rows, in a task that was started for it."""
        for _ in batches:
            pass
        yield from self(iter(()))


def _local_properties(frame: Any) -> dict[str, str]:
    """Return the driver's local properties of the query; empty over Spark Connect."""
    session = frame.sparkSession
    if type(session).__module__.startswith("pyspark.sql.connect"):
        return {}
    found = {name: session.sparkContext.getLocalProperty(name) for name in _SEEN}
    return {name: value for name, value in found.items() if value is not None}
