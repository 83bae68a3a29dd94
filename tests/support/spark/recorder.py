"""A sink that writes down all that Spark hands to it, as lines of JSON: what the real one relies on."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType


@dataclass
class Told(WriterCommitMessage):
    """A task's message: which attempt it was."""

    partition: int
    task_attempt: int


class _Recording:
    """Common to both writers. options: `log` is the file; `fail` is where it fails: `first-attempt` or `commit`."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self.note("made", program=sys.argv)

    def note(self, what: str, **facts: Any) -> None:
        context = TaskContext.get()
        line = {"what": what, "pid": os.getpid(), "is_task": context is not None, "options": self.options, **facts}
        with Path(self.options["log"]).open("a") as log:
            log.write(json.dumps(line) + "\n")

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> Told:
        context = TaskContext.get()
        assert context is not None
        self.note(
            "write",
            partition=context.partitionId(),
            attempt=context.attemptNumber(),
            task_attempt=context.taskAttemptId(),
            properties=context._localProperties,
        )
        self.note("read", rows=sum(batch.num_rows for batch in iterator))
        if self.options.get("fail") == "first-attempt" and context.attemptNumber() == 0:
            raise ValueError("the first attempt fails")
        return Told(context.partitionId(), context.taskAttemptId())

    def ended(self, what: str, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        attempts = [each.task_attempt if isinstance(each, Told) else None for each in messages]
        self.note(what, batch=batch_id, task_attempts=attempts)
        if what == "commit" and self.options.get("fail") == "commit":
            raise ValueError("the commit fails")


class _StreamWriter(_Recording, DataSourceStreamArrowWriter):
    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        self.ended("commit", messages, batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        self.ended("abort", messages, batchId)


class _BatchWriter(_Recording, DataSourceArrowWriter):
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        self.ended("commit", messages, None)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        self.ended("abort", messages, None)


class Recorder(DataSource):
    """format("recorder")."""

    @classmethod
    def name(cls) -> str:
        return "recorder"

    def streamWriter(self, schema: StructType, overwrite: bool) -> _StreamWriter:
        return _StreamWriter(dict(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> _BatchWriter:
        return _BatchWriter(dict(self.options))
