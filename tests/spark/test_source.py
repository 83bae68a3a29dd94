"""Our source beside Spark's own, on topics with everything in them: the same rows, the same batches."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ACL, ACLOperation, ACLPermissionType, KafkaAdminClient, ResourcePattern, ResourceType
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from barnabas.client.client import Client
from pyspark_barnabas.data_source import BarnabasDataSource
from tests.support.clients import topics
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.server import Server
from tests.support.spark.mixed_topic import MixedTopic, compact
from tests.support.waiting import PATIENCE_S

BOTH = ("kafka", "barnabas")
PARTITIONS = 3


@pytest.fixture(scope="module")
def mixed(spark: SparkSession, server: Server) -> list[str]:
    """Two topics of every kind of batch, one with the broker's timestamps; in the first a transaction is open."""
    spark.dataSource.register(BarnabasDataSource)
    return _write_mixed(server, compacted=True)


@pytest.fixture(scope="module")
def kafka(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    everyone_may = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    with KafkaProcess(tmp_path_factory.mktemp("kafka") / "data", everyone_may) as server:
        yield server


def _write_mixed(server: Server, *, compacted: bool) -> list[str]:
    with Client(server.address) as client:
        MixedTopic(client, "mixed-created", PARTITIONS, seed=1).fill(150, leave_open=True)
        appended = {"message.timestamp.type": "LogAppendTime"}
        MixedTopic(client, "mixed-appended", 1, seed=2, **appended).fill(15, leave_open=False)
    if compacted:
        compact(server, "mixed-created", range(PARTITIONS))
    return ["mixed-created", "mixed-appended"]


def _read(spark: SparkSession, source: str, server: Server, **options: str) -> DataFrame:
    named = {"kafka.bootstrap.servers": server.address, "kafka.isolation.level": "read_committed"}
    return spark.read.format(source).options(**(named | options)).load()


def _rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """In the order in which they come out of each partition."""
    moments = frame.withColumn("timestamp", frame["timestamp"].cast("double"))
    return sorted((tuple(row) for row in moments.collect()), key=lambda row: row[2:4])


@pytest.mark.parametrize(
    ("isolation", "headers"), [("read_committed", "true"), ("read_uncommitted", "true"), ("read_committed", "false")]
)
def test_the_rows_are_those_of_the_stock_source(
    spark: SparkSession, server: Server, mixed: list[str], isolation: str, headers: str
) -> None:
    options = {"subscribe": ",".join(mixed), "kafka.isolation.level": isolation, "includeHeaders": headers}
    stock, ours = (_read(spark, source, server, **options) for source in BOTH)
    assert ours.schema == stock.schema
    found = _rows(ours)
    assert len(found) > 1000
    assert found == _rows(stock)


def test_the_rows_are_those_of_the_stock_source_on_apache_kafka(spark: SparkSession, kafka: Server) -> None:
    spark.dataSource.register(BarnabasDataSource)
    _write_mixed(kafka, compacted=False)
    # Tasks begin and end in the middle of batches and of transactions.
    options = {"subscribePattern": "mixed-.*", "includeHeaders": "true", "minPartitions": "11"}
    stock, ours = (_rows(_read(spark, source, kafka, **options)) for source in BOTH)
    assert len(ours) > 1000
    assert ours == stock


def test_a_topic_that_may_not_be_read_is_named(spark: SparkSession, kafka: Server) -> None:
    topics.create(kafka.address, "secret", 1)
    pattern = ResourcePattern(ResourceType.TOPIC, "secret")
    with closing(KafkaAdminClient(bootstrap_servers=kafka.address)) as admin:
        admin.create_acls([ACL("User:ANONYMOUS", "*", ACLOperation.READ, ACLPermissionType.DENY, pattern)])
    with pytest.raises(PySparkException, match=r"secret.*[Aa]uthoriz"):
        _read(spark, "barnabas", kafka, assign='{"secret":[0]}', endingOffsets='{"secret":{"0":1}}').collect()


@pytest.mark.parametrize(
    "options",
    [
        {"minPartitions": "7"},
        {"maxRecordsPerPartition": "300"},
        {
            "startingOffsets": json.dumps({"mixed-created": {"0": 17, "1": 101, "2": -2}}),
            "endingOffsets": json.dumps({"mixed-created": {"0": 150, "1": 111, "2": -1}}),
        },
        {"startingTimestamp": "1700100000000", "endingTimestamp": "1700500000000"},
    ],
)
def test_parts_of_a_topic_are_those_of_the_stock_source(
    spark: SparkSession, server: Server, mixed: list[str], options: dict[str, str]
) -> None:
    stock, ours = (_read(spark, source, server, subscribe=mixed[0], **options) for source in BOTH)
    found = _rows(ours)
    assert found
    assert found == _rows(stock)


def test_a_stream_has_the_batches_of_the_stock_source(
    spark: SparkSession, server: Server, mixed: list[str], tmp_path: Path
) -> None:
    """Which also says that one goes on from the other's checkpoint: the offsets in it are the same.

    Ours also has the topics' ids, and in the first end where its batch begins, as keys without partitions.
    """
    options = {"subscribe": ",".join(mixed), "maxOffsetsPerTrigger": "700", "startingOffsets": "earliest"}
    ends = {}
    for source in BOTH:
        named = {"kafka.bootstrap.servers": server.address, "kafka.isolation.level": "read_committed"}
        query = (
            spark.readStream.format(source)
            .options(**named, **options)
            .load()
            .writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / source))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(PATIENCE_S)
        ends[source] = [
            json.loads(file.read_text().splitlines()[2])
            for file in sorted((tmp_path / source / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
        ]
    assert len(ends["barnabas"]) > 3
    marked = [{key.partition("#")[0] for key, partitions in end.items() if not partitions} for end in ends["barnabas"]]
    assert marked == [{*mixed, ""}, *[set(mixed)] * (len(marked) - 1)]
    assert [{key: end[key] for key in mixed if key in end} for end in ends["barnabas"]] == ends["kafka"]
