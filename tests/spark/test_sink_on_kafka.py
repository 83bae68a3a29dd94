"""The same sink and source against Apache Kafka: streams, a restart, a batch write and atomic mode.

4.4.0 in every run, older releases with --long.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.clients import topics
from tests.support.kafka.jars import KAFKA_VERSION, OLDER_VERSIONS
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S

VERSIONS = [KAFKA_VERSION, *(pytest.param(version, marks=pytest.mark.long) for version in OLDER_VERSIONS)]


@pytest.fixture(scope="module", params=VERSIONS)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("kafka") / "data"
    with KafkaProcess(data, {"num.partitions": 3}, version=request.param) as kafka:
        yield kafka


@pytest.mark.parametrize("atomic", ["false", pytest.param("true", marks=pytest.mark.long)])
def test_a_stream_and_a_write_are_exact_on_kafka(
    spark: SparkSession, kafka: Server, tmp_path: Path, atomic: str
) -> None:
    source, target = f"source-{atomic}", f"target-{atomic}"
    for topic in (source, target):
        topics.create(kafka.address, topic, 3)
    brokers = {"kafka.bootstrap.servers": kafka.address}
    read = spark.readStream.format("barnabas").options(subscribe=source, startingOffsets="earliest", **brokers)
    for batch in range(2):
        topics.send(kafka.address, source, (b"%d" % n for n in range(100 * batch, 100 * batch + 100)))
        writer = read.load().select("value", "partition").writeStream.format("barnabas")
        writer = writer.options(topic=target, atomic=atomic, checkpointLocation=str(tmp_path), **brokers)
        assert writer.trigger(availableNow=True).start().awaitTermination(PATIENCE_S)
    topics.wait_for_markers(kafka.address, target)
    assert topics.numbers(kafka.address, target) == list(range(200))
    rows = spark.range(200, 300, numPartitions=2).selectExpr("CAST(id AS STRING) AS value")
    more = rows.selectExpr("value", "CAST(spark_partition_id() AS INT) AS partition").write.format("barnabas")
    for _ in range(2):
        more.options(topic=target, atomic=atomic, idempotencyKey="more", **brokers).mode("append").save()
    topics.wait_for_markers(kafka.address, target)
    assert topics.numbers(kafka.address, target) == list(range(300))
