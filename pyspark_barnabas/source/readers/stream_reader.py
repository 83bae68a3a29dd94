"""`spark.readStream`: Spark's view of a stream, whose driver's part is stream_plan and whose tasks are task.read.

This one is for Spark 4.0 and 4.1, which request only the latest offset from a Python source: a batch has all
that exists. Later releases get `limited_stream_reader`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from pyspark_barnabas.cluster.clients import client_for
from pyspark_barnabas.cluster.first_contact import wait_for_first_contact
from pyspark_barnabas.options import OptionError
from pyspark_barnabas.reporting.user_errors import UserError, sentence_alone, sentence_alone_in_rows
from pyspark_barnabas.source.errors import explaining
from pyspark_barnabas.source.offsets import Json, StreamPosition, from_json, position_from_json, position_to_json
from pyspark_barnabas.source.options import stream_settings
from pyspark_barnabas.source.partition import RangePartition
from pyspark_barnabas.source.planning.stream_plan import StreamPlan
from pyspark_barnabas.source.row_schema import check_schema
from pyspark_barnabas.worker.worker_connections import SentToWorkers
from pyspark_barnabas.worker.workers import keep_what_is_loaded


class RefusingReader(DataSourceStreamReader):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """Stands for a reader that cannot be created, and raises the error at the first call."""

    def __init__(self, error: UserError) -> None:
        self._error = error

    @sentence_alone
    def initialOffset(self) -> Json:
        """Raise the error."""
        raise self._error

    @sentence_alone
    def latestOffset(self, *_: Any) -> Json:
        """Raise the error."""
        raise self._error

    @sentence_alone
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        """Raise the error."""
        raise self._error

    @sentence_alone
    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Raise the error."""
        raise self._error


class StreamReader(SentToWorkers, DataSourceStreamReader):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """The reader of a stream. It lives in a process of Spark's driver for the whole run of a query; another one is
    pickled to the tasks.
    """

    takes_limits = False

    def __init__(self, options: Mapping[str, str], schema: Any) -> None:
        self._settings = stream_settings(options)
        check_schema(schema, with_headers=self._settings.with_headers)
        if not self.takes_limits and (self._settings.max_offsets or self._settings.min_offsets):
            raise OptionError(
                "maxOffsetsPerTrigger and minOffsetsPerTrigger need Spark 4.2: before it, a Python source cannot "
                "choose where a batch ends. Omit them, and each batch reads all available records"
            )
        self._made: StreamPlan | None = None

    @contextmanager
    def _planning(self) -> Iterator[StreamPlan]:
        connection = self._settings.connection
        with explaining("planning what to read", connection):
            if self._made is None:
                client = client_for(connection)
                wait_for_first_contact(
                    client, connection, timeout_ms=connection.request_timeout_ms, option="kafka.request.timeout.ms"
                )
                self._made = StreamPlan(client, self._settings)
            yield self._made

    @sentence_alone
    def initialOffset(self) -> Json:
        """Return where a query without a checkpoint begins."""
        with self._planning() as plan:
            return position_to_json(plan.first_position())

    @sentence_alone
    def latestOffset(self) -> Json:
        """Return where the next batch ends. Spark does not give its start: the end is never below the last one seen,
        and does not say where the batch begins.
        """
        with self._planning() as plan:
            end = plan.end_of_batch(plan.seen or StreamPosition({}, {}), None, waits=False)
            return position_to_json(end._replace(begin=None))

    @sentence_alone
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        """Return one partition for each task."""
        with self._planning() as plan:
            ranges = plan.ranges(position_from_json(start), position_from_json(end))
            return [RangePartition(each) for each in ranges]

    @sentence_alone
    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Return the rows of a partition, as Arrow record batches."""
        from pyspark_barnabas.source.task import read

        keep_what_is_loaded()
        return sentence_alone_in_rows(read(self._settings, partition.value))

    @sentence_alone
    def commit(self, end: Json) -> None:
        """Commit the offsets up to `end`, which are in Spark's checkpoint."""
        with self._planning() as plan:
            plan.commit(from_json(end))

    def stop(self) -> None:
        """Close the client at the end of the run."""
        client_for(self._settings.connection).close()
