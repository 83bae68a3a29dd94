"""The columns of the segment source.

A null means that there is no value: no producer id, no sequence, no transaction. A row of a damaged stretch has its
place and its `damage`, and null in all that could not be read.
"""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_TYPES: dict[str, DataType] = {
    "STRING": StringType(),
    "INT": IntegerType(),
    "BIGINT": LongType(),
    "BOOLEAN": BooleanType(),
    "TIMESTAMP": TimestampType(),
    "BINARY": BinaryType(),
    "HEADERS": ArrayType(_HEADER),
}

_PLACE = ("topic STRING", "partition INT")
_BATCH = (
    "base_offset BIGINT",  # of the batch; the claim of a damaged header, if there is one
    "leader_epoch INT",
    "producer_id BIGINT",
    "producer_epoch INT",
    "base_sequence INT",
    "is_transactional BOOLEAN",
    "is_control BOOLEAN",
    "control_type INT",  # 0 abort, 1 commit; of markers only
    "outcome STRING",  # committed, aborted, open; of data in transactions only
    "crc_ok BOOLEAN",
    "damage STRING",
    "file STRING",
    "position BIGINT",  # of the batch in the file
)
_RECORD = (
    "offset BIGINT",
    "timestamp TIMESTAMP",
    "timestamp_type INT",  # 0 set by the producer, 1 by the broker
    "key BINARY",
    "value BINARY",
    "headers HEADERS",
    "sequence INT",
)
_WHOLE_BATCH = (
    "last_offset BIGINT",
    "records INT",
    "size BIGINT",
    "compression STRING",
    "base_timestamp TIMESTAMP",
    "max_timestamp TIMESTAMP",
    "timestamp_type INT",
    "last_sequence INT",
)
_FINDING = ("file STRING", "position BIGINT", "offset BIGINT", "kind STRING", "detail STRING")
_COLUMNS = {
    "records": (*_PLACE, *_RECORD, *_BATCH),
    "batches": (*_PLACE, *_WHOLE_BATCH, *_BATCH),
    "findings": (*_PLACE, *_FINDING),
}


def schema_of(content: str) -> StructType:
    """Return the schema of `records`, `batches` or `findings`."""
    columns = [column.split() for column in _COLUMNS[content]]
    return StructType([StructField(name, _TYPES[kind]) for name, kind in columns])
