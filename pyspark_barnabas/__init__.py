"""Barnabas for Spark: an exactly-once sink, and sources that read what is committed.

Where this package is installed, `format("barnabas")` works as it is: Spark looks through all modules whose names begin
with `pyspark_` for a `DefaultSource`. It is made when it is asked for, so that what is pure can be imported without
Spark.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "DefaultSource":
        from pyspark_barnabas.data_source import BarnabasDataSource

        return BarnabasDataSource
    if name == "exactly_once":
        from pyspark_barnabas.spark_sink.for_each_batch import exactly_once

        return exactly_once
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
