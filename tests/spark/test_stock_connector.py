"""Spark's own Kafka source and sink, batch and streaming, with their defaults."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col, explode, split
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.support.clients import topics
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until

START_MS = 1_700_000_000_000
PARTITIONS = 3
COUNT = 300


def _write(server: Server, topic: str, numbers: Sequence[int]) -> None:
    """Write the messages n to partition n % 3, at one a second from START_MS on."""
    with KafkaProducer(bootstrap_servers=server.address, compression_type="gzip") as producer:
        futures = [
            producer.send(
                topic,
                key=b"k%d" % (number % 10),
                value=b"%d" % number,
                headers=[("n", b"%d" % number)],
                partition=number % PARTITIONS,
                timestamp_ms=START_MS + number * 1000,
            )
            for number in numbers
        ]
        for future in futures:
            future.get(timeout=30)


def _read(spark: SparkSession, server: Server, topic: str, **options: str) -> DataFrame:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", server.address).option("subscribe", topic)
    return reader.options(**options).load()


def _numbers(frame: DataFrame) -> list[int]:
    return sorted(int(row.value) for row in frame.select(col("value").cast("string").alias("value")).collect())


@pytest.fixture(scope="module")
def numbers(server: Server) -> str:
    """A topic of COUNT messages."""
    _write(server, "numbers", range(COUNT))
    return "numbers"


def test_a_batch_reads_every_column(spark: SparkSession, server: Server, numbers: str) -> None:
    frame = _read(spark, server, numbers, includeHeaders="true")
    rows = frame.withColumn("ms", (col("timestamp").cast("double") * 1000).cast("long")).collect()
    assert {(row.partition, row.offset, bytes(row.key), bytes(row.value), row.ms) for row in rows} == {
        (n % PARTITIONS, n // PARTITIONS, b"k%d" % (n % 10), b"%d" % n, START_MS + n * 1000) for n in range(COUNT)
    }
    assert {(row.topic, row.timestampType) for row in rows} == {(numbers, 0)}
    assert all(row.headers == [Row(key="n", value=row.value)] for row in rows)


def test_a_batch_starts_and_ends_at_offsets(spark: SparkSession, server: Server, numbers: str) -> None:
    start = json.dumps({numbers: {"0": 98, "1": -2, "2": 99}})
    end = json.dumps({numbers: {"0": -1, "1": 2, "2": -1}})
    assert _numbers(_read(spark, server, numbers, startingOffsets=start, endingOffsets=end)) == [1, 4, 294, 297, 299]


def test_a_batch_starts_and_ends_at_times(spark: SparkSession, server: Server, numbers: str) -> None:
    options = {"startingTimestamp": str(START_MS + 100_000), "endingTimestamp": str(START_MS + 110_000)}
    assert _numbers(_read(spark, server, numbers, **options)) == list(range(100, 110))
    by_partition = json.dumps({numbers: {str(n): START_MS + 290_000 for n in range(PARTITIONS)}})
    found = _numbers(_read(spark, server, numbers, startingOffsetsByTimestamp=by_partition))
    assert found == list(range(290, COUNT))


def test_topics_are_found_by_a_pattern(spark: SparkSession, server: Server, numbers: str) -> None:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", server.address)
    assert reader.option("subscribePattern", "^n.mbers$").load().count() == COUNT


def test_a_batch_writes_what_a_batch_reads(spark: SparkSession, server: Server) -> None:
    frame = spark.range(1000).selectExpr(
        "'from-spark' AS topic",
        "CAST(id % 7 AS STRING) AS key",
        "CAST(id AS STRING) AS value",
        "array(named_struct('key', 'id', 'value', CAST(CAST(id AS STRING) AS BINARY))) AS headers",
    )
    frame.write.format("kafka").options(includeHeaders="true", **{"kafka.bootstrap.servers": server.address}).save()
    found = _read(spark, server, "from-spark", includeHeaders="true")
    assert _numbers(found) == list(range(1000))
    assert all(row.headers == [Row(key="id", value=row.value)] for row in found.collect())


def test_a_stream_counts_words_into_another_topic(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    lines = ["the castle", "the count", "the count and the castle"]
    topics.send(server.address, "lines", map(str.encode, lines))
    words = _stream(spark, server, "lines").select(explode(split(col("value").cast("string"), " ")).alias("word"))
    counts = words.groupBy("word").count().selectExpr("word AS key", "CAST(count AS STRING) AS value")
    writer = _writer(counts, server, "counts", tmp_path / "checkpoint").outputMode("update")
    assert writer.trigger(availableNow=True).start().awaitTermination(PATIENCE_S)
    rows = _read(spark, server, "counts").orderBy("offset").selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)")
    assert {row.key: int(row.value) for row in rows.collect()} == {"the": 4, "castle": 2, "count": 2, "and": 1}


def test_a_stream_goes_on_after_the_broker_was_killed(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    _write(server, "going-on", range(60))
    with _copying(spark, server, "going-on", "copied", tmp_path / "checkpoint") as query:
        until(lambda: _count(spark, server, "copied") == 60, PATIENCE_S)
        server.kill()
        server.start()
        _write(server, "going-on", range(60, 120))
        until(lambda: query.exception() is not None or _count(spark, server, "copied") >= 120, PATIENCE_S)
        assert query.exception() is None
    assert sorted(set(_numbers(_read(spark, server, "copied")))) == list(range(120))
    assert _numbers(_read(spark, server, "going-on")) == list(range(120))


def test_a_stream_begins_where_its_checkpoint_says(spark: SparkSession, server: Server, tmp_path: Path) -> None:
    _write(server, "stop-and-go", range(30))
    with _copying(spark, server, "stop-and-go", "went", tmp_path / "checkpoint") as query:
        query.processAllAvailable()
    server.stop()
    server.start()
    _write(server, "stop-and-go", range(30, 60))
    with _copying(spark, server, "stop-and-go", "went", tmp_path / "checkpoint") as query:
        query.processAllAvailable()
    assert _numbers(_read(spark, server, "went")) == list(range(60))


def _stream(spark: SparkSession, server: Server, topic: str) -> DataFrame:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", server.address)
    return reader.option("subscribe", topic).option("startingOffsets", "earliest").load()


def _writer(rows: DataFrame, server: Server, topic: str, checkpoint: Path) -> DataStreamWriter:
    brokers = {"kafka.bootstrap.servers": server.address}
    return rows.writeStream.format("kafka").options(topic=topic, checkpointLocation=str(checkpoint), **brokers)


@contextmanager
def _copying(
    spark: SparkSession, server: Server, source: str, target: str, checkpoint: Path
) -> Iterator[StreamingQuery]:
    """A running stream that copies a topic."""
    query = _writer(_stream(spark, server, source).select("key", "value"), server, target, checkpoint).start()
    try:
        yield query
    finally:
        query.stop()


def _count(spark: SparkSession, server: Server, topic: str) -> int:
    """How many different messages there are: Spark's sink writes at least once."""
    return len(set(_numbers(_read(spark, server, topic)))) if _exists(server, topic) else 0


def _exists(server: Server, topic: str) -> bool:
    with KafkaConsumer(bootstrap_servers=server.address) as consumer:
        return topic in consumer.topics()
