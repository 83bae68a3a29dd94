"""`df.writeStream.format("barnabas")`: each row once, through restarts, failing tasks and failing commits."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, expr
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StringType, StructField, StructType

from pyspark_barnabas import audit
from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.ledger import Decided, SourceOffset, encode_value
from pyspark_barnabas.observing.auditing import AuditFailed, newest_ends
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.spark_sink.stream_writer import StreamWriter
from tests.support.clients import topics
from tests.support.processes.server import ROOT, Server
from tests.support.waiting import PATIENCE_S, until

PARTITIONS = 3


class Copy:
    """A stream that copies a topic of numbers into another, and all that a test looks at of it."""

    def __init__(self, spark: SparkSession, server: Server, name: str, directory: Path) -> None:
        self.spark, self.address, self.name = spark, server.address, name
        self.source, self.target = f"{name}-source", f"{name}-target"
        self.checkpoint = directory / "checkpoint"
        self.sent = 0
        for topic in (self.source, self.target):
            topics.create(self.address, topic, PARTITIONS)

    def send(self, count: int) -> None:
        """Write the next numbers into the source."""
        topics.send(self.address, self.source, (b"%d" % n for n in range(self.sent, self.sent + count)))
        self.sent += count

    def read(self, format_name: str = "barnabas") -> DataFrame:
        options = {"kafka.bootstrap.servers": self.address, "subscribe": self.source, "startingOffsets": "earliest"}
        return self.spark.readStream.format(format_name).options(**options).load()

    def writer(self, frame: DataFrame | None = None, format_name: str = "barnabas", **options: str) -> DataStreamWriter:
        rows = self.read().select("key", "value") if frame is None else frame
        named = {"kafka.bootstrap.servers": self.address, "topic": self.target} | options
        writer = rows.writeStream.format(format_name).options(**named)
        return writer.option("checkpointLocation", str(self.checkpoint))

    def run(self, frame: DataFrame | None = None, **options: str) -> StreamingQuery:
        """All there is, until it is copied."""
        query = self.writer(frame, **options).trigger(availableNow=True).start()
        assert query.awaitTermination(PATIENCE_S)
        return query

    def refusal(self, **options: str) -> str:
        """What the query fails with."""
        query = self.writer(**options).trigger(availableNow=True).start()
        with pytest.raises(PySparkException) as failed:
            query.awaitTermination(PATIENCE_S)
        return str(failed.value)

    @contextmanager
    def running(self, **options: str) -> Iterator[StreamingQuery]:
        query = self.writer(**options).trigger(processingTime="0 seconds").start()
        try:
            yield query
        finally:
            query.stop()

    @property
    def copied(self) -> list[int]:
        return topics.numbers(self.address, self.target)

    @property
    def is_whole(self) -> bool:
        return self.copied == list(range(self.sent))


@pytest.fixture
def copy(spark: SparkSession, server: Server, tmp_path: Path, request: pytest.FixtureRequest) -> Copy:
    name = re.sub(r"[^A-Za-z0-9_]", "-", request.node.name.removeprefix("test_"))
    return Copy(spark, server, name, tmp_path)


def _offsets(copy: Copy, group: str) -> dict[int, dict[str, Any]]:
    """What `barnabas groups offsets` prints, by partition."""
    command = [str(ROOT / ".venv/bin/barnabas"), "groups", "offsets", group, "--json"]
    printed = subprocess.run([*command, "--bootstrap-server", copy.address], capture_output=True, text=True, check=True)
    return {each["partition"]: each for each in json.loads(printed.stdout)["offsets"]}


def test_brokers_a_topic_and_a_checkpoint_are_enough(copy: Copy) -> None:
    copy.send(300)
    query = copy.run()
    assert copy.is_whole
    offsets = _offsets(copy, f"spark-{query.id}")  # what lag tools see
    assert {each["current_offset"] for each in offsets.values()} == {100}
    assert {each["lag"] for each in offsets.values()} == {0}
    copy.send(30)
    assert {each["lag"] for each in _offsets(copy, f"spark-{query.id}").values()} == {10}


def test_a_stream_that_was_stopped_in_the_middle_goes_on_behind_what_it_wrote(copy: Copy) -> None:
    copy.send(90)
    with copy.running():
        until(lambda: len(copy.copied) >= 90, PATIENCE_S)
        copy.send(30)
    copy.send(30)
    with copy.running(transactionalIdPrefix=""):
        until(lambda: len(copy.copied) >= 150, PATIENCE_S)
    assert copy.is_whole


def test_a_task_that_failed_is_tried_again_and_its_first_rows_are_never_seen(copy: Copy) -> None:
    copy.send(60)

    def fail_once(batches: Any) -> Any:
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0 and context.partitionId() == 1:
            raise ValueError("the first attempt fails behind its rows")

    copy.run(copy.read().select("value").mapInArrow(fail_once, "value binary"))
    assert copy.is_whole


def test_the_stock_source_and_this_sink_fit_together(copy: Copy) -> None:
    copy.send(60)
    query = copy.run(copy.read("kafka").select("value"), **{"kafka.group.id": "stock"})
    assert copy.is_whole
    assert {each["current_offset"] for each in _offsets(copy, "stock").values()} == {20}
    assert query.lastProgress is not None


def test_complete_mode_writes_the_whole_table_with_each_batch(copy: Copy) -> None:
    copy.send(30)
    counts = copy.read().groupBy((col("value").cast("string").cast("int") % 3).cast("string").alias("key")).count()
    table = counts.selectExpr("key", "CAST(count AS STRING) AS value")
    for _ in range(2):
        query = copy.writer(table).outputMode("complete").trigger(availableNow=True).start()
        assert query.awaitTermination(PATIENCE_S)
        copy.send(30)
    assert copy.copied == [10, 10, 10, 20, 20, 20]


def test_all_tasks_of_an_atomic_batch_write_in_one_transaction(copy: Copy) -> None:
    copy.send(30)
    rows = copy.read().selectExpr("value", "partition")
    copy.run(rows, atomic="true")
    copy.send(30)
    copy.run(rows, atomic="true")
    assert copy.is_whole


# --- what is refused ---


def test_a_timeout_longer_than_the_broker_allows_is_refused(copy: Copy) -> None:
    copy.send(3)
    refusal = copy.refusal(**{"kafka.transaction.timeout.ms": "1000000", "twoPhaseCommit": "off"})
    assert "kafka.transaction.timeout.ms is 1000000, but the broker allows at most 900000" in refusal


def test_the_continuous_trigger_is_refused_wherever_it_shows(copy: Copy) -> None:
    schema = StructType([StructField("value", StringType())])
    writer = StreamWriter({"kafka.bootstrap.servers": copy.address, "topic": copy.target}, schema)
    with pytest.raises(SinkFailed, match=r"use trigger\(processingTime"):
        writer.commit([None, None], 0)  # as test_what_spark_tells has it


def test_a_checkpoint_that_was_rolled_back_is_refused(copy: Copy) -> None:
    copy.send(30)
    copy.run()
    shutil.copytree(copy.checkpoint, copy.checkpoint.with_name("old"))
    copy.send(30)
    copy.run()
    copy.send(30)
    shutil.rmtree(copy.checkpoint)
    copy.checkpoint.with_name("old").rename(copy.checkpoint)
    assert "the checkpoint was rolled back or copied" in copy.refusal()
    assert len(copy.copied) == 60


def test_a_checkpoint_of_another_sink_is_refused_unless_an_option_allows_it(copy: Copy) -> None:
    copy.send(30)
    assert copy.writer(format_name="kafka").trigger(availableNow=True).start().awaitTermination(PATIENCE_S)
    copy.send(30)
    assert "the option firstBatch=1" in copy.refusal()
    copy.run(firstBatch="1")
    assert copy.is_whole


def test_a_ledger_that_somebody_else_wrote_to_is_refused(copy: Copy) -> None:
    copy.send(30)
    query = copy.run()
    topics.send(copy.address, f"__spark-{query.id}.ledger", [b"not mine"])
    copy.send(30)
    assert "a record of the ledger cannot be read" in copy.refusal()


def test_of_two_queries_under_one_prefix_the_later_one_takes_over(copy: Copy, tmp_path: Path) -> None:
    copy.send(30)
    with copy.running(transactionalIdPrefix="shared") as first:
        until(lambda: len(copy.copied) == 30, PATIENCE_S)
        other = copy.writer(transactionalIdPrefix="shared").option("checkpointLocation", str(tmp_path / "other"))
        assert other.trigger(availableNow=True).start().awaitTermination(PATIENCE_S)
        copy.send(30)
        with pytest.raises(PySparkException, match="another run took over"):
            first.awaitTermination(PATIENCE_S)


def test_an_audit_counts_the_target_against_the_source(copy: Copy) -> None:
    copy.send(30)
    query = copy.run()
    copy.send(2)  # which no batch has decided about
    cluster, same = {"kafka.bootstrap.servers": copy.address}, "CAST(value AS STRING)"
    topic = {"source": copy.source, "target": copy.target}
    assert audit(copy.spark, cluster, key=same, prefix=f"spark-{query.id}", **topic).is_right

    def expected(rows: DataFrame) -> DataFrame:
        moved = rows.withColumn("key", expr("CASE WHEN value = '7' THEN 'another' WHEN value = '8' THEN '8' END"))
        return moved.withColumn("value", expr("IF(value = '8', NULL, value)"))

    topics.send(copy.address, copy.target, [b"5", b"99"])
    named = "NULLIF(COALESCE(CAST(value AS STRING), CAST(key AS STRING)), '99')"
    report = audit(copy.spark, cluster, key=named, expected=expected, **topic)
    assert not report.is_right
    assert report.counts == {"lost": 2, "duplicated": 1, "altered": 2, "of no record": 1}
    assert re.search(rf"duplicated: key '5', 2 of 1, {copy.target}-\d at \d+, {copy.target}-", str(report))
    assert re.search(rf"of no record: key None, 1 of 0, {copy.target}-\d at \d+$", str(report), re.MULTILINE)
    with pytest.raises(AuditFailed, match="the key is null in all 32 records of `expected`"):
        audit(copy.spark, cluster, key="CAST(NULL AS STRING)", **topic)
    with pytest.raises(AuditFailed, match="says how far it read 'another'"):
        audit(copy.spark, cluster, key=same, prefix=f"spark-{query.id}", source="another", target=copy.target)


def test_an_audit_keeps_the_newest_offsets_of_a_ledger_and_states_what_is_damaged() -> None:
    def ledger(*values: bytes) -> pyarrow.RecordBatch:
        return pyarrow.record_batch([list(range(len(values))), list(values)], names=["offset", "value"])

    def decided(batch_id: int, **ends: int) -> bytes:
        offsets = tuple(SourceOffset(topic, 0, end) for topic, end in ends.items())
        return encode_value(Decided("q", batch_id, "r", RunToken(1, 0), batch_id + 1, (), 1, 0, offsets, None))

    (newest,) = newest_ends(iter([ledger(decided(0, a=5, b=6), b"", decided(1, a=7))]))
    *ends, damaged = [tuple(row.values()) for row in newest.to_pylist()]
    assert ends == [("a", 0, 7, 2, None), ("b", 0, 6, 0, None)]
    assert damaged[3] == 1
    assert "it is not a JSON object" in damaged[4]
