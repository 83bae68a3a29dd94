"""The read_committed source for Spark, batch and streaming: what Spark's stock Kafka source reads, without a jar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def schema(options: Mapping[str, str]) -> Any:
    """Return the columns, as a StructType."""
    from pyspark_barnabas.source.row_schema import row_schema

    return row_schema(options)
