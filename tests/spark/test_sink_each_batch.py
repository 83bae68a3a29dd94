"""`foreachBatch(exactly_once(…))`: update mode on the same protocol, through failing tasks and failing commits."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.streaming.readwriter import DataStreamWriter

from pyspark_barnabas import exactly_once
from pyspark_barnabas.options import OptionError
from pyspark_barnabas.sink import driver
from tests.support.clients import topics
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S

PARTITIONS = 2


class Counts:
    """A stream that counts the numbers of a topic by their remainder, in update mode."""

    def __init__(self, spark: SparkSession, server: Server, name: str, directory: Path) -> None:
        self.spark, self.address, self.target = spark, server.address, f"{name}-counts"
        self.source, self.checkpoint = name, str(directory / "checkpoint")
        for topic in (self.source, self.target):
            topics.create(self.address, topic, PARTITIONS)

    def send(self, numbers: range) -> None:
        topics.send(self.address, self.source, (b"%d" % n for n in numbers))

    def sink(self, **options: Any) -> Any:
        given = {"kafka.bootstrap.servers": self.address, "topic": self.target, "checkpointLocation": self.checkpoint}
        return exactly_once(given | options)

    def rows(self) -> DataFrame:
        options = {"kafka.bootstrap.servers": self.address, "subscribe": self.source, "startingOffsets": "earliest"}
        numbers = self.spark.readStream.format("barnabas").options(**options).load()
        remainder = (col("value").cast("string").cast("int") % 10).cast("string")
        counts = numbers.groupBy(remainder.alias("key")).count()
        return counts.selectExpr("key", "concat(key, '=', count) AS value")

    def writer(self, function: Any, rows: DataFrame | None = None) -> DataStreamWriter:
        writer = (self.rows() if rows is None else rows).writeStream.outputMode("update").foreachBatch(function)
        return writer.option("checkpointLocation", self.checkpoint).trigger(availableNow=True)

    def run(self, **options: Any) -> None:
        assert self.writer(self.sink(**options)).start().awaitTermination(PATIENCE_S)

    def refusal(self, function: Any, rows: DataFrame | None = None) -> str:
        with pytest.raises(PySparkException) as failed:
            self.writer(function, rows).start().awaitTermination(PATIENCE_S)
        return str(failed.value)

    @property
    def written(self) -> list[str]:
        return sorted(record.value.decode() for record in topics.committed(self.address, self.target))


@pytest.fixture
def counts(spark: SparkSession, server: Server, tmp_path: Path, request: pytest.FixtureRequest) -> Counts:
    return Counts(spark, server, request.node.name.removeprefix("test_"), tmp_path)


def test_update_mode_writes_what_changed_and_once(counts: Counts) -> None:
    counts.send(range(10))
    counts.run()
    assert counts.written == [f"{n}=1" for n in range(10)]
    counts.send(range(3))
    counts.run()
    assert counts.written == sorted([f"{n}=1" for n in range(10)] + [f"{n}=2" for n in range(3)])


def test_a_commit_that_failed_in_the_middle_is_made_good_by_the_restart(counts: Counts) -> None:
    counts.send(range(10))
    with patch.object(driver._Committing, "_roll_forward", side_effect=ValueError("after the decision")):
        assert "after the decision" in counts.refusal(counts.sink())
    counts.run()
    assert counts.written == [f"{n}=1" for n in range(10)]


def test_a_failing_task_is_tried_again(counts: Counts) -> None:
    counts.send(range(10))

    def fail_once(batches: Any) -> Any:
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0:
            raise ValueError("the first attempt fails behind its rows")

    rows = counts.rows().selectExpr("CAST(value AS BINARY) AS value").mapInArrow(fail_once, "value binary")
    assert counts.writer(counts.sink(), rows).start().awaitTermination(PATIENCE_S)
    assert counts.written == [f"{n}=1" for n in range(10)]


def test_in_atomic_mode_a_run_goes_no_further_after_a_failure(counts: Counts) -> None:
    counts.send(range(10))
    sink, rows = counts.sink(atomic=True), counts.rows().coalesce(1)

    def insistent(frame: DataFrame, batch_id: int) -> None:
        failing = ValueError("before the decision")
        with patch.object(driver, "commit", side_effect=failing), pytest.raises(ValueError, match="before the"):
            sink(frame, batch_id)
        sink(frame, batch_id)

    assert "a run cannot repeat one" in counts.refusal(insistent, rows)
    assert counts.writer(counts.sink(atomic=True), rows).start().awaitTermination(PATIENCE_S)
    assert counts.written == [f"{n}=1" for n in range(10)]


def test_a_batch_that_is_known_to_be_empty_is_a_batch(counts: Counts) -> None:
    counts.send(range(10))
    assert counts.writer(counts.sink(), counts.rows().where("false")).start().awaitTermination(PATIENCE_S)
    counts.send(range(10))
    counts.run()
    assert counts.written == [f"{n}=2" for n in range(10)]


def test_the_checkpoint_has_to_be_the_querys(counts: Counts, tmp_path: Path) -> None:
    counts.send(range(10))
    counts.run()
    counts.send(range(10))
    theirs, counts.checkpoint = counts.checkpoint, str(tmp_path / "other")
    assert "belongs to query" in counts.refusal(counts.sink(checkpointLocation=theirs))
    with pytest.raises(OptionError, match="pass it to exactly_once"):
        exactly_once({"kafka.bootstrap.servers": counts.address}, topic=counts.target)
    assert counts.written == [f"{n}=1" for n in range(10)]
