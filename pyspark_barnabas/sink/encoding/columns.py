"""The columns of an Arrow batch that make records, checked once, with a sentence for each that is invalid. Pure.

Columns and types are those of Spark's own Kafka sink: `value`, and optionally `key`, `topic`, `headers`, `partition`,
`timestamp`. Others are ignored, as there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_barnabas.rows.encoded_columns import Headers, as_binary, read_headers
from pyspark_barnabas.sink.encoding.batch_layout import BadRows

NO_PARTITION = -1


class Rows(NamedTuple):
    """Rows in the form that records need. `topic`, `key` and `headers` are None if no row has one.

    partition: numpy int64, NO_PARTITION where it is left to the sink; None where it always is. timestamp: numpy int64,
    ms since 1970.
    """

    topic: Any | None
    key: Any | None
    value: Any
    headers: Headers | None
    partition: Any | None
    timestamp: Any


def read_rows(batch: Any, now_ms: int) -> Rows:
    """Return the rows of a RecordBatch; those without a timestamp get `now_ms`. Raise BadRows if they are invalid."""
    value = _column(batch, "value")
    if value is None:
        raise BadRows(
            f"the rows have no column `value`, only {', '.join(batch.schema.names)}: give the column with the "
            "record's value this name, as text or bytes"
        )
    topic, key = _column(batch, "topic"), _column(batch, "key")
    return Rows(
        topic=None if topic is None else _text(topic),
        key=None if key is None or key.null_count == len(key) else _bytes(key, "key"),
        value=_bytes(value, "value"),
        headers=_headers(_column(batch, "headers")),
        partition=_partitions(_column(batch, "partition")),
        timestamp=_timestamps(_column(batch, "timestamp"), len(batch), now_ms),
    )


def _column(batch: Any, name: str) -> Any | None:
    index = batch.schema.get_field_index(name)
    return None if index < 0 else batch.column(index)


def _text(column: Any) -> Any:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise _wrong_type(column, "topic", "text")
    return column


def _bytes(column: Any, name: str) -> Any:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.binary())
    if not any(is_kind(column.type) for is_kind in kinds):
        raise _wrong_type(column, name, "text or bytes")
    return as_binary(column)


def _headers(column: Any | None) -> Headers | None:
    if column is None or column.null_count == len(column):
        return None
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise _wrong_type(column, "headers", "array<struct<key: string, value: binary>>")
    entry = column.type.value_type
    if not pa.types.is_struct(entry) or [entry.field(index).name for index in range(entry.num_fields)] != [
        "key",
        "value",
    ]:
        raise _wrong_type(column, "headers", "array<struct<key: string, value: binary>>")
    try:
        return read_headers(column)
    except ValueError as error:
        raise BadRows(str(error)) from error


def _partitions(column: Any | None) -> Any | None:
    if column is None or column.null_count == len(column):
        return None
    if not pa.types.is_integer(column.type):
        raise _wrong_type(column, "partition", "a whole number")
    numbers = column.cast(pa.int64()).fill_null(NO_PARTITION).to_numpy(zero_copy_only=False)
    negative = pc.min(column).as_py()
    if negative < 0:
        raise BadRows(f"a row asks for partition {negative}: partitions are counted from 0; with null the sink chooses")
    return numbers


def _timestamps(column: Any | None, count: int, now_ms: int) -> Any:
    if column is None or column.null_count == count:
        return np.full(count, now_ms, np.int64)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", column.type.tz), safe=False)
    elif not pa.types.is_integer(column.type):
        raise _wrong_type(column, "timestamp", "a timestamp")
    stamps = column.cast(pa.int64()).fill_null(now_ms).to_numpy(zero_copy_only=False)
    if int(stamps.min()) < 0:
        raise BadRows("a row has a timestamp before 1970, which Kafka does not support: use null for the current time")
    return stamps


def _wrong_type(column: Any, name: str, wanted: str) -> BadRows:
    return BadRows(f"the column `{name}` is {column.type}, and must be {wanted}: cast it")
