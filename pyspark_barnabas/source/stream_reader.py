"""`spark.readStream`: Spark's view of a stream, whose driver's part is stream_plan and whose tasks are task.read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from pyspark_barnabas.clients import client_for
from pyspark_barnabas.source.offsets import Json, from_json, to_json
from pyspark_barnabas.source.options import stream_settings
from pyspark_barnabas.source.partition import RangePartition
from pyspark_barnabas.source.planning.stream_plan import StreamPlan
from pyspark_barnabas.source.row_schema import check_schema
from pyspark_barnabas.workers import keep_what_is_loaded


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """Lives in a process of Spark's driver for the whole run of a query; another one is pickled to the tasks."""

    def __init__(self, options: Mapping[str, str], schema: Any) -> None:
        self._settings = stream_settings(options)
        check_schema(schema, with_headers=self._settings.with_headers)
        self._made: StreamPlan | None = None

    @property
    def _plan(self) -> StreamPlan:
        if self._made is None:
            self._made = StreamPlan(client_for(self._settings.connection), self._settings)
        return self._made

    def initialOffset(self) -> Json:
        """Where a query without a checkpoint begins."""
        return to_json(self._plan.first_offsets())

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that will be read."""
        self._plan.fix_the_end()

    def getDefaultReadLimit(self) -> ReadLimit:
        """One of the two limits: Spark has no name for both, so that latestOffset looks at the other itself."""
        if self._settings.max_offsets:
            return ReadMaxRows(self._settings.max_offsets)
        if self._settings.min_offsets:
            return ReadMinRows(self._settings.min_offsets)
        return ReadAllAvailable()

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:
        """Where the batch from `start` on ends."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        waits = not isinstance(limit, ReadAllAvailable)
        return to_json(self._plan.end_of_batch(from_json(start), most, waits=waits))

    def reportLatestOffset(self) -> Json | None:
        """For Spark's report of progress."""
        return None if self._plan.seen is None else to_json(self._plan.seen)

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        """One for each task."""
        return [RangePartition(each) for each in self._plan.ranges(from_json(start), from_json(end))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """The rows of one of them, as Arrow record batches."""
        from pyspark_barnabas.source.task import read

        keep_what_is_loaded()
        return read(self._settings, partition.value)

    def commit(self, end: Json) -> None:
        """Everything up to there is in Spark's checkpoint."""
        self._plan.commit(from_json(end))

    def stop(self) -> None:
        """The run is over."""
        client_for(self._settings.connection).close()
