"""The columns of the source: those of Spark's stock Kafka source, name by name and type by type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pyspark_barnabas.options import OptionError
from pyspark_barnabas.source.options import includes_headers

_COLUMNS = [
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
]
_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_HEADERS = StructField("headers", ArrayType(_HEADER))


def row_schema(options: Mapping[str, str]) -> StructType:
    """Return the columns, with `headers` if the option includeHeaders is set."""
    return StructType([*_COLUMNS, _HEADERS] if includes_headers(options) else _COLUMNS)


def check_schema(schema: Any, *, with_headers: bool) -> None:
    """Raise OptionError unless it is the source's own: Spark would pass any schema that a program sets."""
    own = StructType([*_COLUMNS, _HEADERS] if with_headers else _COLUMNS)
    if schema != own:
        raise OptionError(f"the source has fixed columns, {own.simpleString()}: omit .schema() and select from them")
