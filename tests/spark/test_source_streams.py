"""`spark.readStream.format("barnabas")` while topics change, brokers die and records are lost."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from barnabas.client.admin.records import delete_records
from barnabas.client.admin.topics import create_partitions, delete_topic
from barnabas.client.client import Client
from barnabas.client.offsets import committed_offsets
from barnabas.client.transactions.producer import TransactionalProducer
from pyspark_barnabas.data_source import BarnabasDataSource
from tests.support.clients import topics
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until


class Reading:
    """A stream that writes the numbers of a topic into files, and what a test does to both."""

    def __init__(self, spark: SparkSession, server: Server, name: str, directory: Path) -> None:
        self.spark, self.server, self.topic = spark, server, name
        self.directory = directory
        self.sent = 0

    def create(self, partitions: int) -> None:
        topics.create(self.server.address, self.topic, partitions)

    def send(self, count: int) -> None:
        """The next numbers."""
        topics.send(self.server.address, self.topic, (b"%d" % n for n in range(self.sent, self.sent + count)))
        self.sent += count

    def frame(self, source: str = "barnabas", **options: str) -> DataFrame:
        named = {"kafka.bootstrap.servers": self.server.address, "startingOffsets": "earliest"}
        if "subscribePattern" not in options:
            named["subscribe"] = self.topic
        return self.spark.readStream.format(source).options(**(named | options)).load()

    def start(self, source: str = "barnabas", *, once: bool = False, **options: str) -> StreamingQuery:
        writer = self.frame(source, **options).selectExpr("CAST(value AS STRING) AS value").writeStream
        writer = writer.format("text").option("checkpointLocation", str(self.directory / "checkpoint"))
        return (writer.trigger(availableNow=True) if once else writer).start(str(self.directory / "found"))

    def run(self, source: str = "barnabas", **options: str) -> None:
        """All there is."""
        assert self.start(source, once=True, **options).awaitTermination(PATIENCE_S)

    @contextmanager
    def running(self, **options: str) -> Iterator[StreamingQuery]:
        query = self.start(once=False, **options)
        try:
            yield query
        finally:
            query.stop()

    def failure(self, **options: str) -> str:
        """What the query fails with."""
        query = self.start(once=True, **options)
        with pytest.raises(PySparkException):
            query.awaitTermination(PATIENCE_S)
        return str(query.exception())

    def found(self) -> list[int]:
        if not (self.directory / "found").exists():
            return []
        return sorted(int(row.value) for row in self.spark.read.text(str(self.directory / "found")).collect())

    def wait_for(self, count: int, query: StreamingQuery) -> None:
        until(lambda: query.exception() is not None or self.lines() >= count, PATIENCE_S)
        assert query.exception() is None

    def lines(self) -> int:
        """Without Spark, as it is asked often."""
        files = (self.directory / "found").glob("part-*")
        return sum(file.read_bytes().count(b"\n") for file in files)


@pytest.fixture
def reading(spark: SparkSession, server: Server, request: pytest.FixtureRequest, tmp_path: Path) -> Reading:
    spark.dataSource.register(BarnabasDataSource)
    return Reading(spark, server, request.node.name.replace("test_", ""), tmp_path)


def test_a_stream_goes_on_with_new_topics_and_partitions_and_a_broker_that_was_killed(reading: Reading) -> None:
    pattern = {"subscribePattern": f"{reading.topic}.*", "startingOffsets": "latest"}
    with reading.running(**pattern) as query:
        until(lambda: query.exception() or query.recentProgress, PATIENCE_S)  # it has seen that there is nothing
        reading.create(1)
        reading.send(50)
        reading.wait_for(50, query)
        with Client(reading.server.address) as client:
            create_partitions(client, reading.topic, 3)
        reading.send(50)
        reading.wait_for(100, query)
        reading.server.kill()
        reading.server.start()
        reading.send(50)
        reading.wait_for(150, query)
    reading.run(**pattern)  # the last batch may have been stopped before it was Spark's
    assert reading.found() == list(range(150))


def test_a_stream_goes_on_from_the_stock_sources_checkpoint(reading: Reading) -> None:
    reading.create(3)
    reading.send(40)
    reading.run("kafka")
    reading.send(40)
    reading.run("barnabas")
    reading.send(40)
    reading.run("kafka")
    assert reading.found() == list(range(120))


def test_a_stream_killed_in_its_first_batch_begins_where_it_began(reading: Reading) -> None:
    reading.create(1)
    reading.send(10)
    latest = {"startingOffsets": "latest"}
    with reading.running(**latest) as query:
        until(lambda: query.exception() or query.recentProgress, PATIENCE_S)
    commits = reading.directory / "checkpoint" / "commits"
    assert [each.name for each in commits.glob("[0-9]*")] == ["0"]
    shutil.rmtree(commits)  # as if it was killed before the end of the batch
    reading.send(50)
    with Client(reading.server.address) as client:
        create_partitions(client, reading.topic, 3)
    reading.run(**latest)
    assert reading.found() == list(range(10, 60))


def test_a_stream_waits_at_an_open_transaction(reading: Reading) -> None:
    reading.create(1)
    with Client(reading.server.address) as client:
        producer = TransactionalProducer(client, reading.topic)
        producer.init()
        for number, commits in enumerate((True, False)):
            producer.begin()
            producer.send(reading.topic, b"%d" % number, partition=0)
            producer.flush()
            reading.run(maxOffsetsPerTrigger="1")
            assert reading.found() == [0][:number]
            producer.commit() if commits else producer.abort()
    reading.run(maxOffsetsPerTrigger="1")
    assert reading.found() == [0]


def test_offsets_follow_in_a_group_if_asked_to(reading: Reading) -> None:
    reading.create(2)
    reading.send(20)
    group = {"kafka.group.id": reading.topic, "commitOffsets": "true"}
    with reading.running(**group) as query, Client(reading.server.address) as client:
        reading.wait_for(20, query)
        reading.send(20)  # with the next batch the offsets of the one before are committed
        reading.wait_for(40, query)
        until(lambda: sum(committed_offsets(client, reading.topic).values()) >= 20)


def test_lost_records_fail_the_query_unless_that_is_allowed(reading: Reading) -> None:
    reading.create(1)
    reading.send(30)
    reading.run()
    reading.send(30)
    with Client(reading.server.address) as client:
        delete_records(client, {(reading.topic, 0): 50})
    failure = reading.failure()
    assert "was to be read from 30, but has only 50 to 60" in failure
    assert "set failOnDataLoss to false" in failure
    reading.run(failOnDataLoss="false")
    assert reading.found() == [*range(30), *range(50, 60)]


def test_a_topic_made_again_fails_the_query_unless_that_is_allowed(reading: Reading) -> None:
    reading.create(1)
    reading.send(30)
    reading.run()
    with Client(reading.server.address) as client:
        delete_topic(client, reading.topic)
    reading.create(1)
    for _ in range(2):  # the second time Spark repeats the batch that it had planned
        failure = reading.failure(**{"fetchOffset.retryIntervalMs": "10"})
        assert f"{reading.topic} had the id " in failure
        assert "it was deleted and created again, or this is another cluster" in failure
        assert "set failOnDataLoss to false" in failure
    reading.run(failOnDataLoss="false")
    reading.send(5)
    reading.run()
    assert reading.found() == list(range(35))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": "nowhere"}, "there is no topic 'nowhere'"),
        ({"startingOffsets": '{"t":{"0":1}}'}, "startingOffsets does not have "),
        ({"endingOffsets": "latest"}, "a stream has no end"),
    ],
)
def test_unreadable_input_is_reported_in_a_sentence(reading: Reading, options: dict[str, str], sentence: str) -> None:
    reading.topic = "numbers-to-refuse"
    reading.send(1)  # which makes the topic
    told = reading.failure(**options)
    assert sentence in told
    assert "UnboundLocalError" not in told, "Spark's own, as it stops a reader that it does not have"
