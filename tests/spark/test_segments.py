"""The segment source over directories of Barnabas and of Apache Kafka, each killed while a transaction was open."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from barnabas.client.transactions.producer import TransactionalProducer
from tests.support.clients import topics
from tests.support.files.segment_files import LogWriter
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

TOPIC = "orders"
PARTITIONS = 2
SETTINGS = {"log.segment.bytes": 1 << 20, "log.retention.ms": -1}
Row = tuple[int, int, int, bytes | None, bytes | None, list[tuple[str, bytes]]]


@dataclass
class World:
    """A directory whose broker was killed: what was written how, and what a consumer got of it before."""

    data_dir: Path
    outcomes: dict[bytes, str | None] = field(default_factory=dict)
    consumed: list[Row] = field(default_factory=list)

    def read(self, spark: SparkSession, **options: object) -> DataFrame:
        return spark.read.format("barnabas").option("path", str(self.data_dir)).options(**options).load()


class Writer:
    """Writes values to a topic, and remembers what is to become of them."""

    def __init__(self, server: Server, world: World) -> None:
        self.client = Client(server.address)
        self.world = world
        create_topic(self.client, TOPIC, partitions=PARTITIONS)

    def send(self, producer: Producer | TransactionalProducer, values: list[bytes], outcome: str | None) -> None:
        for number, value in enumerate(values):
            key, headers = (b"k%d" % (number % 7), [("n", b"%d" % number)]) if number % 3 else (None, [])
            producer.send(TOPIC, value, key=key, headers=headers, partition=number % PARTITIONS)
            self.world.outcomes[value] = outcome
        producer.flush()

    def write_everything(self) -> None:
        plain = Producer(self.client)
        first, second = (TransactionalProducer(self.client, name, compression="lz4") for name in ("first", "second"))
        first.init()
        second.init()
        self.send(plain, [b"plain %d" % n for n in range(100)], None)
        for number in range(4):
            first.begin()
            second.begin()
            commits = number % 2 == 0
            self.send(first, [b"first %d.%d" % (number, n) for n in range(50)], "committed" if commits else "aborted")
            self.send(second, [b"second %d.%d" % (number, n) for n in range(50)], "aborted" if commits else "committed")
            for producer, commit in ((first, commits), (second, not commits)):
                producer.commit() if commit else producer.abort()
            for part in range(10):  # so that segments are rolled
                self.send(plain, [b"%d.%d.%d " % (number, part, n) + b"x" * 1000 for n in range(100)], None)
        first.begin()
        self.send(first, [b"open %d" % n for n in range(50)], "open")
        self.send(plain, [b"behind %d" % n for n in range(10)], None)


def consume(server: Server) -> list[Row]:
    """What kafka-python gets at read_committed."""
    found = topics.committed(server.address, TOPIC)
    return [(each.partition, each.offset, each.timestamp, each.key, each.value, list(each.headers)) for each in found]


@pytest.fixture(scope="module", params=["barnabas", "kafka"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp(request.param) / "data")
    kind = BrokerProcess if request.param == "barnabas" else KafkaProcess
    with kind(world.data_dir, SETTINGS) as server:
        Writer(server, world).write_everything()
        world.consumed = consume(server)
    return world


def rows_of(frame: DataFrame) -> list[Row]:
    columns = ("partition", "offset", "CAST(timestamp AS DOUBLE) * 1000 AS ms", "key", "value", "headers")
    return [
        (
            row.partition,
            row.offset,
            round(row.ms),
            None if row.key is None else bytes(row.key),
            bytes(row.value),
            [(header.key, bytes(header.value)) for header in row.headers or []],
        )
        for row in frame.selectExpr(*columns).orderBy("partition", "offset").collect()
    ]


def test_committed_rows_are_those_that_a_consumer_got(spark: SparkSession, world: World) -> None:
    found = rows_of(world.read(spark, isolationLevel="read_committed", splitBytes=600_000))
    assert found == world.consumed
    assert len(found) > 4000


def test_outcomes_are_those_that_the_writer_remembers(spark: SparkSession, world: World) -> None:
    frame = world.read(spark).where("NOT is_control")
    found = {bytes(row.value): row.outcome for row in frame.select("value", "outcome").collect()}
    assert found == world.outcomes
    tally = Counter(found.values())
    assert tally["committed"] == tally["aborted"] == 200
    assert tally["open"] == 50


def test_batches_tell_their_producers_and_markers(spark: SparkSession, world: World) -> None:
    batches = world.read(spark, content="batches")
    markers = batches.where("is_control").groupBy("control_type").count().collect()
    assert {row.control_type: row["count"] for row in markers} == {0: 8, 1: 8}
    assert batches.where("NOT crc_ok OR damage IS NOT NULL").count() == 0
    data = batches.where("NOT is_control")
    assert {row.compression for row in data.where("is_transactional").select("compression").collect()} == {"lz4"}
    ids = data.groupBy("is_transactional").agg({"producer_id": "count"}).collect()
    assert all(row["count(producer_id)"] > 0 for row in ids)
    torn = data.where("last_sequence <> base_sequence + records - 1 OR last_offset <> base_offset + records - 1")
    assert torn.count() == 0


def test_nothing_is_wrong_with_the_files_of_a_killed_broker(spark: SparkSession, world: World) -> None:
    assert world.read(spark, content="findings").collect() == []


def test_a_log_is_read_in_parts_and_filters_leave_some_of_them_out(spark: SparkSession, world: World) -> None:
    whole = world.read(spark, splitBytes=400_000)
    assert whole.rdd.getNumPartitions() > 8
    condition = "topic = 'orders' AND partition = 1 AND offset >= 100 AND offset < 200"
    expected = rows_of(whole.where(condition))
    assert len(expected) == 100
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        pushed = world.read(spark, splitBytes=400_000).where(condition)
        assert rows_of(pushed) == expected
        assert pushed.rdd.getNumPartitions() < whole.rdd.getNumPartitions() / 2
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    ranges = {"startingOffsets": '{"orders":{"1":100}}', "endingOffsets": '{"orders":{"1":200}}'}
    assert rows_of(world.read(spark, assign='{"orders":[1]}', **ranges)) == expected


def test_a_damaged_batch_is_a_row_among_the_others(spark: SparkSession, tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    for number in range(4):
        log.data([b"%d" % number])
    log.batches[1] = log.batches[1][:-1] + b"?"
    log.batches[3] = log.batches[3][:-1]
    log.roll()
    world = World(tmp_path)
    rows = world.read(spark).select("base_offset", "offset", "crc_ok", "damage", "value").collect()
    assert [(row.base_offset, row.offset, row.crc_ok) for row in rows] == [
        (0, 0, True),
        (1, None, False),
        (2, 2, True),
        (3, None, False),
    ]
    assert [row.damage is None for row in rows] == [True, False, True, False]
    kinds = [row.kind for row in world.read(spark, content="findings").orderBy("position").collect()]
    assert kinds == ["crc", "torn tail"]
    with pytest.raises(PySparkException, match="the CRC of this batch"):
        world.read(spark, isolationLevel="read_committed").collect()


def test_unreadable_input_is_refused_with_a_sentence(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="is not a data directory: it has neither"):
        World(tmp_path).read(spark).collect()
    LogWriter(tmp_path).data([b"v"])
    with pytest.raises(PySparkException, match="has no invoices; it has none"):
        World(tmp_path).read(spark, subscribe="invoices").collect()
