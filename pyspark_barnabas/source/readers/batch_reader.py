"""`spark.read`: all offsets between two bounds, fixed when the query is planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from pyspark_barnabas.cluster.clients import new_client
from pyspark_barnabas.cluster.first_contact import wait_for_first_contact
from pyspark_barnabas.reporting.user_errors import sentence_alone, sentence_alone_in_rows
from pyspark_barnabas.source.errors import explaining
from pyspark_barnabas.source.options import batch_settings
from pyspark_barnabas.source.partition import RangePartition
from pyspark_barnabas.source.planning.batch_plan import plan_batch
from pyspark_barnabas.source.row_schema import check_schema
from pyspark_barnabas.worker.worker_connections import SentToWorkers
from pyspark_barnabas.worker.workers import keep_what_is_loaded


class BatchReader(SentToWorkers, DataSourceReader):  # type: ignore[misc]  # because pyspark is not in the environment of the checks
    """Spark's view of one read. It is pickled to the tasks."""

    def __init__(self, options: Mapping[str, str], schema: Any) -> None:
        self._settings = batch_settings(options)
        check_schema(schema, with_headers=self._settings.with_headers)

    @sentence_alone
    def partitions(self) -> list[InputPartition]:
        """Return one partition for each task. Spark adds one if there are none."""
        connection = self._settings.connection
        with new_client(connection) as client, explaining("planning what to read", connection):
            wait_for_first_contact(
                client, connection, timeout_ms=connection.request_timeout_ms, option="kafka.request.timeout.ms"
            )
            return [RangePartition(each) for each in plan_batch(client, self._settings)]

    @sentence_alone
    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Return the rows of a partition, as Arrow record batches."""
        from pyspark_barnabas.source.task import read

        keep_what_is_loaded()
        return iter(()) if partition.value is None else sentence_alone_in_rows(read(self._settings, partition.value))
