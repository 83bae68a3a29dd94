"""Logs as tables, without a broker: a batch source that reads a data directory of Barnabas or of Apache Kafka.

These modules know files and bytes; only `schemas`, `rows` and `reader` know Spark and Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def schema(options: Mapping[str, str]) -> Any:
    """Return the StructType of the rows for these options."""
    from pyspark_barnabas.source.segments.schemas import schema_of
    from pyspark_barnabas.source.segments.settings import read_settings

    return schema_of(read_settings(options).content)
