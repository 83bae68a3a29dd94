"""The Spark session of a job: the caller's, where spark-submit or a notebook made one, or one of its own.

Two settings matter to the exactly-once sink and are therefore the default here: a stage that was begun is not begun
again (its tasks' transactions would be written twice under one batch), and no task runs twice at a time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def session(name: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session on this machine, or the one that the program was submitted to. Its Python is the one that runs."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    if "SPARK_ENV_LOADED" not in os.environ and "MASTER" not in os.environ:
        builder = builder.master("local[2,4]")
    for key, value in {**SETTINGS, **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
