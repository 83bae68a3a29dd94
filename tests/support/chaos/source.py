"""The data source under test with points in it: `format("chaos")` is `format("barnabas")` that asks the gate.

Its own options: chaosGate (host:port), chaosStream (what the test calls the stream). All others are handed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark import TaskContext

from pyspark_barnabas.data_source import BarnabasDataSource
from pyspark_barnabas.spark_sink.messages import TaskMessage
from pyspark_barnabas.spark_sink.stream_writer import StreamWriter
from tests.support.chaos import points

_OWN = ("chaosgate", "chaosstream")


class ChaosDataSource(BarnabasDataSource):
    """Only its streaming sink differs."""

    @classmethod
    def name(cls) -> str:
        return "chaos"

    def streamWriter(self, schema: Any, overwrite: bool) -> ChaosStreamWriter:
        given = {name.lower(): value for name, value in dict(self.options).items()}
        gate, stream = (given.pop(name) for name in _OWN)
        return ChaosStreamWriter(given, schema, gate, stream)


class ChaosStreamWriter(StreamWriter):
    """The sink's own, with a call to the gate on the way."""

    def __init__(self, options: dict[str, str], schema: Any, gate: str, stream: str) -> None:
        super().__init__(options, schema)
        self._gate, self._stream = gate, stream

    def write(self, iterator: Iterator[Any]) -> TaskMessage:
        context = TaskContext.get()
        assert context is not None
        points.install()
        points.enter(self._gate, self._stream, int(context.getLocalProperty("streaming.sql.batchId")))
        return super().write(iterator)

    def commit(self, messages: Sequence[TaskMessage | None], batchId: int) -> None:
        points.install()
        points.enter(self._gate, self._stream, batchId)
        points.hit("begin")
        super().commit(messages, batchId)
        points.hit("after-sweep")
