"""The facts that a task gets from Spark's TaskContext: its identity, and whether the query can be exact at all.

A task's local properties contain the whole of Spark's configuration beside the query's own: so facts that Spark does
not give to the planner, or to the process that commits, are read here, before the first row is written.
tests/spark/test_what_spark_tells.py checks each of these facts.

    sql.streaming.queryId, streaming.sql.batchId    the query's id, which is in the checkpoint, and the batch's
    spark.jobGroup.id                               the id of this run of the query
    __is_continuous_processing                      whether the trigger is the continuous one
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark_barnabas.commit.refusals import QuerySettings, refuse
from pyspark_barnabas.options import OptionError, text
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings, TaskFacts
from pyspark_barnabas.spark_sink.wheels import say_once_what_is_missing
from pyspark_barnabas.worker.workers import keep_what_is_loaded

COMMITTER = "python_streaming_sink_runner"
"""The program of Spark in which a stream's batches are committed."""
_SPARKS_STAGE_ATTEMPTS = 4  # if spark.stage.maxConsecutiveAttempts is not set


@dataclass(frozen=True, slots=True)
class BatchRun:
    """The properties that all tasks of a batch have in common."""

    query_id: str
    run_id: str
    batch_id: int
    is_stream: bool


def is_committing_process() -> bool:
    """Return whether this is the process in which Spark commits a stream's batches, and not the one that plans them.

    Both create the writer, and differ only in the program that they run.
    """
    return any(COMMITTER in each for each in sys.argv)


def properties() -> Mapping[str, str]:
    """Return the local properties of the current task."""
    found: Mapping[str, str] = _context()._localProperties
    return found


def run_of(local_properties: Mapping[str, str]) -> BatchRun:
    """Return the run of a stream's task."""
    try:
        return BatchRun(
            local_properties["sql.streaming.queryId"],
            checked_run_id(local_properties["spark.jobGroup.id"]),
            int(local_properties["streaming.sql.batchId"]),
            is_stream=True,
        )
    except (KeyError, ValueError) as error:
        raise SinkFailed(
            f"Spark does not pass the query and batch to its task ({error}): docs/spark-versions.md lists the "
            "releases of Spark that the sink supports. Nothing was written"
        ) from error


def checked_run_id(group: str) -> str:
    """Return Spark's id of the run, which its job group has unless a program set another one. Raise SinkFailed in that
    case: two runs that look like one would have one token, and nothing would fence the older.
    """
    try:
        return str(uuid.UUID(group))
    except ValueError as error:
        raise SinkFailed(
            f"the job group of the query is {group!r}, not Spark's id for the run: do not change the query's "
            "job group (setJobGroup within foreachBatch). Nothing was written"
        ) from error


def facts(run: BatchRun) -> TaskFacts:
    """Return the facts of the current task."""
    say_once_what_is_missing()
    keep_what_is_loaded()
    context = _context()
    return TaskFacts(
        run.query_id,
        run.run_id,
        run.batch_id,
        partition=context.partitionId(),
        attempt_number=context.attemptNumber(),
        task_attempt_id=context.taskAttemptId(),
        is_stream=run.is_stream,
    )


def refuse_what_is_weaker(settings: SinkSettings, run: BatchRun, local_properties: Mapping[str, str]) -> None:
    """Raise SinkFailed if the query would be weaker than exactly once, with all the reasons."""
    is_continuous = local_properties.get("__is_continuous_processing") == "true"
    attempts = int(local_properties.get("spark.stage.maxConsecutiveAttempts", _SPARKS_STAGE_ATTEMPTS))
    query = QuerySettings(
        prefix=settings.prefix_of(run.query_id),
        trigger="continuous" if is_continuous else "processingTime",
        has_speculation=local_properties.get("spark.speculation", "false") == "true",
        is_atomic=settings.is_atomic,
        max_stage_attempts=attempts,
    )
    reasons = refuse(query)
    if reasons:
        raise SinkFailed("; ".join(reasons))


def checkpoint_location(options: Mapping[str, str], local_properties: Mapping[str, str]) -> str:
    """Return the path of a stream's checkpoint: from the option, or from a session setting and the query's name."""
    location = text(options, "checkpointLocation")
    if location is not None:
        return location
    base, query = local_properties.get("spark.sql.streaming.checkpointLocation"), text(options, "queryName")
    if base and query:
        return f"{base.rstrip('/')}/{query}"
    raise OptionError(
        "the query has no permanent checkpoint, so a restart would not find it: set checkpointLocation. Nothing was "
        "written"
    )


def _context() -> Any:
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise SinkFailed("the sink's tasks run in Spark, but this is not a task of Spark")
    return context
