"""The Spark session of a job: the caller's, if spark-submit or a notebook made one, or a new one.

Two settings matter to the exactly-once sink and are therefore the default here: no task runs twice at a time, which it
refuses, and a stage is not retried, which its atomic mode requires. A third makes it faster: rows reach the sink in
pieces of at most 2 MiB, where Spark would hand over 10 MB of rows of 1 kB.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark import SparkConf
from pyspark.sql import SparkSession

_SUBMITTED = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")  # set by spark-submit, or Spark Connect, in the environment
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxBytesPerBatch": "2m",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def session(name: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session on this machine, or the one that the program was submitted to, whose own settings win."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    wanted = {**SETTINGS, **(settings or {})}
    if any(variable in os.environ for variable in _SUBMITTED):
        given = SparkConf()
        wanted = {key: value for key, value in wanted.items() if not given.contains(key)}
    else:
        builder = builder.master("local[2,4]")  # a task may fail three times
    for key, value in wanted.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
