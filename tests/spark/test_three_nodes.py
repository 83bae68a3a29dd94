"""Spark over three nodes, whose leaders and coordinators move, and which are stopped and started: exactly once.

What is committed by our sink and read by our source, or by Spark's stock one, is there once; nothing is passed by.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from pyspark_barnabas.data_source import BarnabasDataSource
from tests.support.clients import topics
from tests.support.depth import long
from tests.support.processes.moves import Moves
from tests.support.processes.three_nodes import ThreeNodes

PARTITIONS = 3
STEPS = 6
LONG_STEPS = 60
AT_ONCE = 30


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeNodes]:
    with ThreeNodes(tmp_path_factory.mktemp("nodes") / "data", {"num.partitions": PARTITIONS}) as server:
        yield server


@contextmanager
def _copying(
    spark: SparkSession, address: str, source: str, target: str, source_format: str, checkpoint: Path
) -> Iterator[StreamingQuery]:
    spark.dataSource.register(BarnabasDataSource)
    at = {"kafka.bootstrap.servers": address}
    read = spark.readStream.format(source_format).options(**at, subscribe=source, startingOffsets="earliest")
    writer = read.load().select("key", "value").writeStream.format("barnabas").options(**at, topic=target)
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(processingTime="0 seconds").start()
    try:
        yield query
    finally:
        query.stop()


@pytest.mark.parametrize("steps", [STEPS, pytest.param(LONG_STEPS, marks=pytest.mark.long)])
@pytest.mark.parametrize("source_format", ["barnabas", long("kafka")])
def test_a_stream_is_copied_exactly_once_while_leaders_and_coordinators_move(
    spark: SparkSession, server: ThreeNodes, tmp_path: Path, source_format: str, steps: int
) -> None:
    address, source, target = server.address, f"source-{source_format}-{steps}", f"target-{source_format}-{steps}"
    for topic in (source, target):
        topics.create(address, topic, PARTITIONS)
    sent = 0
    with (
        Moves(address, [source, target]) as nodes,
        _copying(spark, address, source, target, source_format, tmp_path / "checkpoint") as query,
    ):
        for _ in range(steps):
            topics.send(address, source, (b"%d" % n for n in range(sent, sent + AT_ONCE)))
            sent += AT_ONCE
            nodes.make()
            query.processAllAvailable()
            topics.wait_for(address, target, sent)  # Spark may be told later of offsets that it asked for before
            assert topics.numbers(address, target) == list(range(sent)), nodes.done
