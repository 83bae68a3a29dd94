"""The work of a task: one range of offsets as Arrow record batches, in the columns of Spark's Kafka source.

Invariants: exactly the visible records of the range come, in their order, or an error; no marker ever does, and in
read_committed nothing of an aborted transaction. Lost records are an error unless the settings say otherwise: then the
rest comes. Memory does not depend on the size of the range.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from barnabas.client.client import Client
from barnabas.client.offsets import READ_UNCOMMITTED
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from pyspark_barnabas.cluster.clients import client_for
from pyspark_barnabas.cluster.first_contact import wait_for_first_contact
from pyspark_barnabas.source import cluster
from pyspark_barnabas.source.decoding.decoded_columns import HEADERS, ROWS, TIMESTAMP, Columns, read_columns
from pyspark_barnabas.source.decoding.visible import visible
from pyspark_barnabas.source.errors import SourceError, explaining, lose
from pyspark_barnabas.source.fetching import GONE, Batch, FetchedBatches, Fetcher, Unfinished
from pyspark_barnabas.source.options import SourceSettings
from pyspark_barnabas.source.ranges import OffsetRange
from pyspark_barnabas.worker.workers import keep_what_is_freed

_FIELDS = [
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", TIMESTAMP),
    pa.field("timestampType", pa.int32()),
]
_SCHEMA = pa.schema(_FIELDS)
_SCHEMA_WITH_HEADERS = pa.schema([*_FIELDS, pa.field("headers", HEADERS)])


def read(settings: SourceSettings, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the range."""
    keep_what_is_freed()
    rows, connection = _Rows(settings, wanted), settings.connection
    client = client_for(connection)
    with explaining(f"reading {wanted}", connection):
        wait_for_first_contact(
            client, connection, timeout_ms=settings.poll_timeout_ms, option="kafkaConsumer.pollTimeoutMs"
        )
        for answer in _answers(client, settings, wanted):
            yield from rows.of(answer)


def _answers(client: Client, settings: SourceSettings, wanted: OffsetRange) -> Iterator[FetchedBatches]:
    """Yield all answers, and skip lost offsets if that is allowed."""
    fetcher = Fetcher(
        client,
        wanted,
        isolation=settings.isolation,
        fetch_bytes=settings.fetch_bytes,
        patience_ms=settings.poll_timeout_ms,
    )
    while fetcher.position < wanted.end:
        try:
            yield from fetcher.answers()
        except Unfinished as error:
            lose([str(error)], fail=settings.fail_on_data_loss)
            return
        except KafkaError as error:
            if error.code in GONE:
                lose([f"{wanted.topic}-{wanted.partition} was deleted"], fail=settings.fail_on_data_loss)
                return
            if error.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            fetcher.position = _after_the_gap(client, settings, wanted, fetcher.position, error)


def _after_the_gap(
    client: Client, settings: SourceSettings, wanted: OffsetRange, position: int, error: KafkaError
) -> int:
    """Return where to continue from an offset that does not exist; raise DataLoss if the query has to fail then."""
    earliest = cluster.earliest(client, [wanted.where])[wanted.where]
    latest = cluster.latest(client, [wanted.where], isolation=READ_UNCOMMITTED)[wanted.where]
    if earliest <= position <= latest:
        raise error
    loss = f"{wanted.topic}-{wanted.partition} was to be read from {position}, but has only {earliest} to {latest}"
    lose([loss], fail=settings.fail_on_data_loss)
    return earliest if position < earliest else wanted.end


class _Rows:
    """Converts answers to rows of one range. The columns that are the same in all rows are made once."""

    def __init__(self, settings: SourceSettings, wanted: OffsetRange) -> None:
        self._settings = settings
        self._wanted = wanted
        self._topic = pa.repeat(pa.scalar(wanted.topic, pa.string()), ROWS)
        self._partition = pa.repeat(pa.scalar(wanted.partition, pa.int32()), ROWS)
        self._timestamp_types = [pa.repeat(pa.scalar(kind, pa.int32()), ROWS) for kind in (0, 1)]
        self._schema = _SCHEMA_WITH_HEADERS if settings.with_headers else _SCHEMA

    def of(self, answer: FetchedBatches) -> Iterator[pa.RecordBatch]:
        batches = visible(answer.batches, answer.aborted, answer.start, self._wanted.end)
        try:
            for columns in read_columns(batches, with_headers=self._settings.with_headers):
                rows = self._rows(columns, batches, answer.start)
                if rows.num_rows:
                    yield rows
        except DecodeError as error:
            raise SourceError(f"{self._wanted.topic}-{self._wanted.partition} is damaged: {error}") from error
        except ModuleNotFoundError as error:
            raise SourceError(
                f"{self._wanted.topic}-{self._wanted.partition} is compressed, but {error.name} is not installed on "
                "the hosts of Spark's tasks: docs/pipeline.md explains how to ship an environment"
            ) from error

    def _rows(self, columns: Columns, batches: list[Batch], start: int) -> pa.RecordBatch:
        count = len(columns.offsets)
        arrays = [
            columns.keys,
            columns.values,
            self._topic.slice(0, count),
            self._partition.slice(0, count),
            pa.array(columns.offsets, pa.int64()),
            columns.timestamps,
            self._timestamp_type(columns, batches),
        ]
        if columns.headers is not None:
            arrays.append(columns.headers)
        rows = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        is_wanted = (columns.offsets >= start) & (columns.offsets < self._wanted.end)
        return rows if is_wanted.all() else rows.filter(pa.array(is_wanted))

    def _timestamp_type(self, columns: Columns, batches: list[Batch]) -> pa.Array:
        kinds = [batches[number][0].timestamp_type for number, _ in columns.spans]
        if len(set(kinds)) == 1:
            return self._timestamp_types[kinds[0]].slice(0, len(columns.offsets))
        return pa.array(np.repeat(kinds, [count for _, count in columns.spans]), pa.int32())
