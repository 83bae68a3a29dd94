"""Barnabas for Spark: an exactly-once sink, and sources that read what is committed.

Where this package is installed, `format("barnabas")` works without a configuration: Spark searches all modules whose
names begin with `pyspark_` for a `DefaultSource`. It is created at its first use, so that the pure modules can be
imported without Spark. Importing this package before there is a session makes Spark's workers run this program's Python
(`own_python`).
"""

from __future__ import annotations

from typing import Any

from pyspark_barnabas.worker.own_python import use_own_python

use_own_python()


def __getattr__(name: str) -> Any:
    if name == "DefaultSource":
        from pyspark_barnabas.data_source import BarnabasDataSource

        return BarnabasDataSource
    if name == "exactly_once":
        from pyspark_barnabas.spark_sink.for_each_batch import exactly_once

        return exactly_once
    if name == "audit":
        from pyspark_barnabas.observing.auditing import audit

        return audit
    if name == "offsets_behind":
        from pyspark_barnabas.observing.lag import offsets_behind

        return offsets_behind
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
