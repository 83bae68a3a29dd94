"""What Spark really hands to a Python sink: the facts that the exactly-once sink stands on, and what Spark refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from pyspark_barnabas.spark_sink.task_context import COMMITTER
from tests.support.processes.server import Server
from tests.support.spark.recorder import Recorder
from tests.support.waiting import PATIENCE_S, until


@pytest.fixture(scope="module")
def lines(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory of two files, which make a batch of two lines; the recorder is registered."""
    spark.dataSource.register(Recorder)
    directory = tmp_path_factory.mktemp("lines")
    (directory / "one.txt").write_text("a\n")
    (directory / "two.txt").write_text("b\n")
    return str(directory)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def _stream(spark: SparkSession, lines: str) -> DataFrame:
    return spark.readStream.format("text").load(lines)


def _writer(frame: DataFrame, log: Path, **options: str) -> DataStreamWriter:
    checkpoint = str(log.parent / "checkpoint")
    named = frame.writeStream.format("recorder").options(log=str(log), **options)
    return named.option("checkpointLocation", checkpoint)


def _run(writer: DataStreamWriter) -> StreamingQuery:
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    return query


def _told(log: Path, what: str) -> list[dict[str, Any]]:
    notes = [json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [note for note in notes if note["what"] == what]


def test_tasks_know_whose_they_are_and_whoever_commits_knows_their_messages(
    spark: SparkSession, lines: str, log: Path
) -> None:
    query = _run(_writer(_stream(spark, lines), log))
    writes, properties = _told(log, "write"), _told(log, "write")[0]["properties"]
    assert properties["sql.streaming.queryId"] == query.id
    assert properties["spark.jobGroup.id"] == query.runId
    assert properties["streaming.sql.batchId"] == "0"
    assert properties["__is_continuous_processing"] == "false"
    assert properties["spark.speculation"] == "false"  # of SparkConf, all of which is there
    assert properties["spark.sql.shuffle.partitions"] == "2"  # of the session
    (commit,) = _told(log, "commit")
    assert (commit["is_task"], commit["batch"]) == (False, 0)
    assert commit["options"]["checkpointlocation"] == str(log.parent / "checkpoint")
    assert sorted(commit["task_attempts"]) == sorted(note["task_attempt"] for note in writes)
    made = {note["pid"]: note["program"] for note in _told(log, "made")}
    assert len(made) == len(_told(log, "made")) == 2
    assert [pid for pid, program in made.items() if COMMITTER in program[-1]] == [commit["pid"]]
    assert not {note["pid"] for note in writes} & made.keys()


def test_a_batch_without_rows_has_a_task_that_sends_a_message(spark: SparkSession, lines: str, log: Path) -> None:
    _run(_writer(_stream(spark, lines).where("false"), log))
    assert {note["rows"] for note in _told(log, "read")} == {0}
    (commit,) = _told(log, "commit")
    assert commit["task_attempts"]
    assert None not in commit["task_attempts"]


def test_a_write_of_no_partitions_has_a_task_that_sends_a_message(spark: SparkSession, lines: str, log: Path) -> None:
    nothing = spark.createDataFrame(spark.sparkContext.emptyRDD(), "value string")
    nothing.write.format("recorder").mode("append").option("log", str(log)).save()
    (commit,) = _told(log, "commit")
    assert len(commit["task_attempts"]) == 1


def test_another_attempt_has_an_id_of_its_own_and_only_one_is_committed(
    spark: SparkSession, lines: str, log: Path
) -> None:
    _run(_writer(_stream(spark, lines).coalesce(1), log, fail="first-attempt"))
    first, second = _told(log, "write")
    assert (first["attempt"], second["attempt"]) == (0, 1)
    assert first["task_attempt"] != second["task_attempt"]
    (commit,) = _told(log, "commit")
    assert commit["task_attempts"] == [second["task_attempt"]]


def test_a_commit_that_failed_is_followed_by_an_abort_of_the_same_batch(
    spark: SparkSession, lines: str, log: Path
) -> None:
    query = _writer(_stream(spark, lines), log, fail="commit").trigger(availableNow=True).start()
    with pytest.raises(PySparkException, match="the commit fails"):
        query.awaitTermination(PATIENCE_S)
    (commit,), (abort,) = _told(log, "commit"), _told(log, "abort")
    assert abort["batch"] == 0
    assert abort["task_attempts"] == commit["task_attempts"]
    again = _run(_writer(_stream(spark, lines), log))
    assert (again.id, _told(log, "commit")[-1]["batch"]) == (query.id, 0)
    assert again.runId != query.runId


def test_a_checkpoint_by_the_sessions_setting_is_named_after_the_query(
    spark: SparkSession, lines: str, log: Path
) -> None:
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(log.parent / "all"))
    try:
        _run(_stream(spark, lines).writeStream.format("recorder").option("log", str(log)).queryName("orders"))
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")
    note = _told(log, "write")[0]
    assert note["options"]["queryname"] == "orders"
    assert note["properties"]["spark.sql.streaming.checkpointLocation"] == str(log.parent / "all")
    assert (log.parent / "all" / "orders" / "offsets" / "0").exists()


def test_the_continuous_trigger_commits_without_messages(spark: SparkSession, lines: str, log: Path) -> None:
    query = _writer(spark.readStream.format("rate").load(), log).trigger(continuous="1 second").start()
    try:
        until(lambda: log.exists() and _told(log, "commit"), PATIENCE_S)
    finally:
        query.stop()
    assert set(_told(log, "commit")[0]["task_attempts"]) == {None}


# --- what Spark refuses itself, so that the sink need not see it ---


def _refusal(writer: DataStreamWriter) -> str:
    try:
        writer.start().awaitTermination(PATIENCE_S)
    except PySparkException as refused:
        return str(refused)
    raise AssertionError("Spark did not refuse it")


@pytest.mark.long  # holds as long as Spark's version does
def test_spark_refuses_update_mode_to_python_sinks(spark: SparkSession, lines: str, log: Path) -> None:
    counts = _stream(spark, lines).groupBy("value").count()
    assert "does not support Update mode" in _refusal(_writer(counts, log).outputMode("update"))


@pytest.mark.long  # holds as long as Spark's version does
def test_spark_refuses_asynchronous_progress_to_python_sinks_and_to_foreach_batch(
    spark: SparkSession, lines: str, log: Path
) -> None:
    expected = "does not support async progress tracking"
    tracking = {"asyncProgressTrackingEnabled": "true"}
    assert expected in _refusal(_writer(_stream(spark, lines), log, **tracking))
    each_batch = _stream(spark, lines).writeStream.foreachBatch(lambda frame, batch_id: None).options(**tracking)
    assert expected in _refusal(each_batch.option("checkpointLocation", str(log.parent / "other")))


@pytest.mark.long  # holds as long as Spark's version does
def test_spark_refuses_the_continuous_trigger_to_foreach_batch(spark: SparkSession, log: Path) -> None:
    rate = spark.readStream.format("rate").load()
    each_batch = rate.writeStream.foreachBatch(lambda frame, batch_id: None).trigger(continuous="1 second")
    assert "not supported with continuous trigger" in _refusal(each_batch)


@pytest.mark.parametrize("is_allowlist_checked", ["true", "false"])
@pytest.mark.long  # holds as long as Spark's version does
def test_spark_refuses_real_time_mode_to_python_sinks_and_to_foreach_batch(
    spark: SparkSession, lines: str, log: Path, server: Server, is_allowlist_checked: str
) -> None:
    with KafkaProducer(bootstrap_servers=server.address) as producer:
        producer.send("real-time", b"1").get(timeout=30)
    topic = spark.readStream.format("kafka").option("kafka.bootstrap.servers", server.address)
    rows = topic.option("subscribe", "real-time").load()
    each_batch = rows.writeStream.foreachBatch(lambda frame, batch_id: None)
    spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", is_allowlist_checked)
    try:
        for writer in (_writer(rows, log), each_batch.option("checkpointLocation", str(log.parent / "other"))):
            refusal = _refusal(writer.outputMode("update").trigger(realTime="5 seconds"))
            assert "STREAMING_REAL_TIME_MODE" in refusal or "does not support Update mode" in refusal
    finally:
        spark.conf.unset("spark.sql.streaming.realTimeMode.allowlistCheck")


@pytest.mark.parametrize("mode", ["error", "ignore"])
@pytest.mark.long  # holds as long as Spark's version does
def test_spark_refuses_to_write_where_something_is_unless_it_is_told_to_append(
    spark: SparkSession, lines: str, log: Path, mode: str
) -> None:
    with pytest.raises(PySparkException, match="cannot be written in"):
        spark.range(1).write.format("recorder").mode(mode).option("log", str(log)).save()
