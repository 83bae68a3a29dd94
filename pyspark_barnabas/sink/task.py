"""write(): a task's rows into an open transaction, which it leaves open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark_barnabas.commit.messages import Message
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings, TaskFacts


def write(settings: SinkSettings, task: TaskFacts, batches: Iterator[Any]) -> Message:
    """Write the rows of `batches` (pyarrow.RecordBatch), or read them only where the batch was decided before.

    Returns when every record is acknowledged; the transaction stays open for the driver to end. SinkFailed otherwise.
    """
    raise SinkFailed("the sink is being built")
