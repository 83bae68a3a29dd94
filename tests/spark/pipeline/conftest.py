"""Times are read and written in UTC, as in the jobs' own sessions."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _utc(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.unset("spark.sql.session.timeZone")
