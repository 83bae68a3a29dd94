"""What a new user does wrong first, in Spark itself: how soon it is said, and what stands around the sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.waiting import PATIENCE_S

NOWHERE = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.delivery.timeout.ms": "300", "topic": "t"}


def test_where_no_broker_is_a_stream_fails_before_any_task_runs_and_the_sentence_stands_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    rate = spark.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS value")
    query = rate.writeStream.format("barnabas").options(checkpointLocation=str(tmp_path), **NOWHERE).start()
    with pytest.raises(PySparkException) as failed:
        query.awaitTermination(PATIENCE_S)
    told = str(failed.value)
    assert "cluster failed: cannot connect to 127.0.0.1:1: connection refused" in told
    assert "kafka.delivery.timeout.ms (300)" in told
    assert "The above exception" not in told
    assert told.count("/pyspark_barnabas/") == 1, told  # of our frames the one that Spark called


def test_importing_the_package_has_workers_run_the_programs_own_python() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    program = "import pyspark_barnabas, os, sys; print('pyspark' in sys.modules, os.environ['PYSPARK_PYTHON'])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "PATH": os.defpath},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["False", sys.executable]
