"""Spark's stock source at read_committed, over transactions that were committed, were aborted and are still open."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from kafka import KafkaProducer
from pyspark.sql import DataFrame, SparkSession

from tests.support.processes.server import Server

PARTITIONS = 3


class Writer:
    """A transactional producer of numbers, n to partition n % 3 of a topic of its own."""

    def __init__(self, server: Server, topic: str) -> None:
        self.topic = topic
        self.producer = KafkaProducer(
            bootstrap_servers=server.address,
            transactional_id=f"writer-of-{topic}",
            transaction_timeout_ms=600_000,  # Spark takes its time while one is open
        )
        self.producer.init_transactions()

    def begin(self, numbers: Sequence[int]) -> None:
        """Begin a transaction, and have these numbers in the log."""
        self.producer.begin_transaction()
        futures = [self.producer.send(self.topic, b"%d" % n, partition=n % PARTITIONS) for n in numbers]
        for future in futures:
            future.get(timeout=30)

    def commit(self) -> None:
        self.producer.commit_transaction()

    def abort(self) -> None:
        self.producer.abort_transaction()


@pytest.fixture
def writer(server: Server, request: pytest.FixtureRequest) -> Iterator[Writer]:
    """Two transactions committed, one aborted between them, and one open."""
    writer = Writer(server, request.node.name)
    writer.begin(range(30))
    writer.commit()
    writer.begin(range(100, 130))
    writer.abort()
    writer.begin(range(30, 60))
    writer.commit()
    writer.begin(range(60, 90))
    yield writer
    writer.producer.close()


def _options(server: Server, writer: Writer, isolation: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": server.address,
        "kafka.isolation.level": isolation,
        "subscribe": writer.topic,
        "startingOffsets": "earliest",
    }


def _numbers(frame: DataFrame) -> list[int]:
    return sorted(int(bytes(row.value)) for row in frame.select("value").collect())


def test_a_batch_reads_what_is_committed_and_no_more(spark: SparkSession, server: Server, writer: Writer) -> None:
    frame = spark.read.format("kafka").options(**_options(server, writer, "read_committed")).load()
    assert _numbers(frame) == list(range(60))
    frame = spark.read.format("kafka").options(**_options(server, writer, "read_uncommitted")).load()
    assert _numbers(frame) == [*range(90), *range(100, 130)]


def test_a_stream_waits_at_the_open_transaction_and_goes_on_behind_it(
    spark: SparkSession, server: Server, writer: Writer, tmp_path: Path
) -> None:
    def read_on() -> list[int]:
        """What a stream that begins where its checkpoint stands has written in all."""
        stream = spark.readStream.format("kafka").options(**_options(server, writer, "read_committed")).load()
        copy = stream.select("value").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = copy.trigger(availableNow=True).start(str(tmp_path / "found"), format="parquet")
        assert query.awaitTermination(120)
        return _numbers(spark.read.parquet(str(tmp_path / "found")))

    assert read_on() == list(range(60))
    writer.commit()
    writer.begin(range(200, 230))
    writer.abort()
    assert read_on() == list(range(90))
