"""The sink, failing where the option `fail` says: in commit(), before, in the middle of, or after its work."""

from collections.abc import Sequence
from unittest.mock import patch

from pyspark.sql.types import StructType

from pyspark_barnabas.data_source import BarnabasDataSource
from pyspark_barnabas.sink import driver
from pyspark_barnabas.spark_sink.messages import TaskMessage
from pyspark_barnabas.spark_sink.stream_writer import StreamWriter


class CommitFailed(Exception):
    """What the failing commit() raises."""


class _FailingWriter(StreamWriter):
    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._fail = options.pop("fail")
        super().__init__(options, schema)

    def commit(self, messages: Sequence[TaskMessage | None], batchId: int) -> None:
        if self._fail == "undecided":
            raise CommitFailed("before anything was decided")
        if self._fail == "decided":
            failing = CommitFailed("after the decision, before anything is visible")
            with patch.object(driver._Committing, "_roll_forward", side_effect=failing):
                super().commit(messages, batchId)
        super().commit(messages, batchId)
        raise CommitFailed("after all was done")


class Failing(BarnabasDataSource):
    """format("failing")."""

    @classmethod
    def name(cls) -> str:
        return "failing"

    def streamWriter(self, schema: StructType, overwrite: bool) -> _FailingWriter:
        return _FailingWriter(self._options(), schema)
