"""`df.write.format("barnabas")`: what a record can have, and that a write is all or nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameWriter

from tests.support.clients import topics
from tests.support.processes.server import Server

PARTITIONS = 3


@pytest.fixture
def topic(server: Server, request: pytest.FixtureRequest) -> str:
    name: str = request.node.name.removeprefix("test_").replace("[", "-").rstrip("]")
    topics.create(server.address, name, PARTITIONS, max_message_bytes=str(8 << 20))
    return name


def _writer(frame: DataFrame, server: Server, target: str | None, **options: str) -> DataFrameWriter:
    named = {name.replace("__", "."): value for name, value in options.items()}
    writer = frame.write.format("barnabas").option("kafka.bootstrap.servers", server.address).options(**named)
    return (writer if target is None else writer.option("topic", target)).mode("append")


def _refusal(writer: DataFrameWriter) -> str:
    with pytest.raises(PySparkException) as refused:
        writer.save()
    return str(refused.value)


def _numbers(spark: SparkSession, count: int) -> DataFrame:
    return spark.range(count, numPartitions=2).selectExpr("CAST(id AS STRING) AS value")


def test_a_record_has_what_its_row_says(spark: SparkSession, server: Server, topic: str) -> None:
    when = datetime(2026, 3, 4, 5, 6, 7, 890_000, tzinfo=UTC)
    rows: list[tuple[Any, ...]] = [
        ("k", b"value", 1, when, [("a", b"1"), ("a", None), ("b", b"")]),
        (None, b"", 2, None, []),
        ("tombstone", None, 0, when, None),
    ]
    schema = (
        "key string, value binary, partition int, timestamp timestamp, headers array<struct<key:string,value:binary>>"
    )
    _writer(spark.createDataFrame(rows, schema).coalesce(1), server, topic, batchHeader="batch").save()
    none, first, second = topics.committed(server.address, topic)
    mark = ("batch", b"0")
    assert (none.partition, none.key, none.value, list(none.headers)) == (0, b"tombstone", None, [mark])
    assert (first.partition, first.key, first.value) == (1, b"k", b"value")
    assert list(first.headers) == [("a", b"1"), ("a", None), ("b", b""), mark]
    assert first.timestamp == none.timestamp == int(when.timestamp() * 1000)
    assert (second.partition, second.key, second.value) == (2, None, b"")
    assert second.timestamp > first.timestamp


def test_keys_find_the_partitions_that_kafkas_own_producer_finds(
    spark: SparkSession, server: Server, topic: str
) -> None:
    rows = spark.range(200, numPartitions=2).selectExpr("CAST(id AS STRING) AS key", "CAST(id AS STRING) AS value")
    _writer(rows, server, topic).save()
    stock = rows.write.format("kafka").option("kafka.bootstrap.servers", server.address)
    stock.option("topic", topic).mode("append").save()
    places: dict[bytes, set[int]] = {}
    for record in topics.committed(server.address, topic):
        places.setdefault(record.key, set()).add(record.partition)
    assert len(places) == 200
    assert all(len(partitions) == 1 for partitions in places.values())


def test_rows_without_key_are_spread(spark: SparkSession, server: Server, topic: str) -> None:
    _writer(_numbers(spark, 3000), server, topic, kafka__batch__size="2000").save()
    records = topics.committed(server.address, topic)
    assert sorted(int(record.value) for record in records) == list(range(3000))
    assert {record.partition for record in records} == set(range(PARTITIONS))


def test_a_column_names_each_rows_topic_unless_the_option_does(spark: SparkSession, server: Server, topic: str) -> None:
    others = [f"{topic}-{n}" for n in range(2)]
    for other in others:
        topics.create(server.address, other, 1)
    rows = spark.range(10).selectExpr(f"concat('{topic}-', id % 2) AS topic", "CAST(id AS STRING) AS value")
    _writer(rows, server, None).save()
    assert [topics.numbers(server.address, other) for other in others] == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
    _writer(rows, server, topic).save()
    assert topics.numbers(server.address, topic) == list(range(10))


def test_every_compression_can_be_read(spark: SparkSession, server: Server, topic: str) -> None:
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        _writer(_numbers(spark, 500), server, topic, kafka__compression__type=codec).save()
    stock = spark.read.format("kafka").option("kafka.bootstrap.servers", server.address).option("subscribe", topic)
    found = stock.load().selectExpr("CAST(CAST(value AS STRING) AS INT) AS n").groupBy("n").count().collect()
    assert sorted((row["n"], row["count"]) for row in found) == [(n, 5) for n in range(500)]


def test_large_records_are_written_where_they_are_allowed(spark: SparkSession, server: Server, topic: str) -> None:
    rows = spark.range(3).selectExpr("repeat(CAST(id AS STRING), 2000000) AS value")
    assert "max.request.size" in _refusal(_writer(rows, server, topic))
    assert topics.committed(server.address, topic) == []
    _writer(rows, server, topic, kafka__max__request__size=str(4 << 20)).save()
    values = [record.value for record in topics.committed(server.address, topic)]
    assert sorted(values) == [b"%d" % n * 2_000_000 for n in range(3)]


def test_a_write_that_fails_leaves_nothing(spark: SparkSession, server: Server, topic: str) -> None:
    rows = spark.range(2000, numPartitions=2).selectExpr(
        "CAST(id AS STRING) AS value", "IF(id = 1999, 77, NULL) AS partition"
    )
    assert "asks for partition 77" in _refusal(_writer(rows, server, topic))
    assert topics.committed(server.address, topic) == []  # and no reader waits for anything
    _writer(_numbers(spark, 10), server, topic).save()
    assert topics.numbers(server.address, topic) == list(range(10))


def test_a_write_under_the_same_key_is_a_write_once(spark: SparkSession, server: Server, topic: str) -> None:
    for _ in range(2):
        _writer(_numbers(spark, 10), server, topic, idempotencyKey="monday").save()
    assert topics.numbers(server.address, topic) == list(range(10))
    _writer(_numbers(spark, 10), server, topic, idempotencyKey="tuesday").save()
    assert topics.numbers(server.address, topic) == sorted(2 * list(range(10)))


def test_an_atomic_write_shows_in_one_step(spark: SparkSession, server: Server, topic: str) -> None:
    rows = spark.range(90, numPartitions=2).selectExpr(
        "CAST(id AS STRING) AS value", "CAST(spark_partition_id() AS INT) AS partition"
    )
    for number in (1, 2):
        _writer(rows, server, topic, atomic="true").save()
        assert topics.numbers(server.address, topic) == sorted(number * list(range(90)))
    overlapping = spark.range(90, numPartitions=2).selectExpr("CAST(id AS STRING) AS value", "0 AS partition")
    assert "df.repartition('topic', 'partition')" in _refusal(_writer(overlapping, server, topic, atomic="true"))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"topic": "no.such.topic"}, "no.such.topic"),
        ({"path": "somewhere"}, "call save() or start() without a path"),
        ({"kafka__transactional__id": "mine"}, "set transactionalIdPrefix"),
        ({"idempotencykeys": "k"}, "did you mean idempotencyKey?"),
    ],
)
def test_impossible_values_are_refused_with_a_sentence(
    spark: SparkSession, strict_server: Server, options: dict[str, str], sentence: str
) -> None:
    hurried = {"kafka__delivery__timeout__ms": "3000", "kafka__request__timeout__ms": "3000"}
    given = {"topic": "there"} | hurried | options
    assert sentence in _refusal(_writer(_numbers(spark, 1), strict_server, None, **given))


def test_overwriting_is_refused(spark: SparkSession, server: Server, topic: str) -> None:
    assert "never overwrites it" in _refusal(_writer(_numbers(spark, 1), server, topic).mode("overwrite"))


def test_columns_of_wrong_types_are_refused(spark: SparkSession, server: Server, topic: str) -> None:
    assert "`value` is bigint" in _refusal(_writer(spark.range(1).selectExpr("id AS value"), server, topic))
