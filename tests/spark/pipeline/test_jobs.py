"""The jobs over a broker, and the audit over what they left: as it is, and as it should not be."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.transactions.producer import TransactionalProducer
from barnabas.protocol.records.record import BatchRecord
from pipeline.auditing import Audit, AuditConfig
from pipeline.demo.orders import OrderStream
from pipeline.jobs.aggregate import AggregateConfig
from pipeline.jobs.aggregate import build as build_aggregate
from pipeline.jobs.validate import ValidateConfig
from pipeline.jobs.validate import build as build_validate
from pipeline.verdict import Check, Verdict
from tests.support.processes.broker import BrokerProcess
from tests.support.records.tampering import Batch, as_abort, changed, moved, rewrite

TOPICS = {"orders.raw": 3, "orders.valid": 2, "orders.rejected": 1, "revenue.1m": 1}
ORDERED_MS = 1_700_000_000_000


@dataclass
class World:
    """What the jobs left behind."""

    data_dir: Path
    bootstrap: str
    right: list[Check]


def write_orders(client: Client) -> None:
    producer, stream = TransactionalProducer(client, "shop"), OrderStream(11, corrupt_share=0.1)
    producer.init()
    for transaction in range(10):
        producer.begin()
        for number in range(60):
            order = stream.next(ORDERED_MS + transaction * 60_000 + number * 1000)
            producer.send("orders.raw", order.value, key=order.key)
        producer.flush()
        producer.abort() if transaction % 4 == 3 else producer.commit()


def run(writer: DataStreamWriter, checkpoint: Path) -> None:
    """Run a query over all there is."""
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert query.exception() is None


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("pipeline")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    with BrokerProcess(directory / "data", {"log.retention.ms": -1}) as server:
        with Client(server.address) as client:
            for topic, partitions in TOPICS.items():
                create_topic(client, topic, partitions=partitions)
            write_orders(client)
        validate = ValidateConfig(bootstrap_servers=server.address, max_offsets_per_trigger=200)
        aggregate = AggregateConfig(bootstrap_servers=server.address)
        run(build_validate(spark, validate), directory / "checkpoint-validate")
        run(build_aggregate(spark, aggregate), directory / "checkpoint-aggregate")
        config = AuditConfig(bootstrap_servers=server.address, data_directory=str(directory / "data"))
        yield World(directory / "data", server.address, Audit(spark, config).checks())
        server.stop()


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {each.name.split(" ")[-1]: each for each in checks}


def test_results_of_the_jobs_are_right(world: World) -> None:
    names = ("coverage", "ledger __validate.ledger", "sums", "ledger __aggregate.ledger", "segments")
    answers = {each.name: (each.verdict, each.findings, each.unknown) for each in world.right}
    assert answers == dict.fromkeys(names, (Verdict.RIGHT, (), None))
    checks = by_name(world.right)
    counts = checks["coverage"].counts
    assert counts["orders.raw"] == 480  # of 600, 120 were aborted
    assert counts["orders.valid"] + counts["orders.rejected"] == 480
    assert counts["orders.rejected"] > 10
    assert checks["__validate.ledger"].counts["batches"] > 2
    assert 0 < checks["sums"].counts["written"] <= checks["sums"].counts["windows"]
    assert checks["segments"].counts["aborts"] > 0


def tampered(world: World, path: Path) -> AuditConfig:
    """The directory's copy, with a wrong of every kind in it, each with right CRCs."""
    shutil.copytree(world.data_dir, path)

    def half_a_batch(batches: list[Batch]) -> list[bytes]:
        """The first transaction's marker says abort, in this partition alone."""
        at = next(at for at, (header, _) in enumerate(batches) if header.is_control)
        return [as_abort(each) if number == at else each[1] for number, each in enumerate(batches)]

    def doubled(batches: list[Batch]) -> list[bytes]:
        """The first transaction once more, at the end."""
        end = batches[-1][0].next_offset
        at = next(at for at, (header, _) in enumerate(batches) if header.is_control)
        producer = batches[at][0].producer_id
        own = [each for each in batches[: at + 1] if each[0].producer_id == producer]
        again = [moved(each, end + each[0].base_offset) for each in own]
        return [*(each[1] for each in batches), *again]

    def a_wrong_sum(batches: list[Batch]) -> list[bytes]:
        def more(records: list[BatchRecord]) -> list[BatchRecord]:
            value = re.sub(rb'"amount":(\d+)', rb'"amount":1\1', records[0].value or b"")
            return [records[0]._replace(value=value), *records[1:]]

        return [changed(batches[0], more), *(each[1] for each in batches[1:])]

    def without_a_decision(batches: list[Batch]) -> list[bytes]:
        """The second decision's transaction was aborted; the run's first record is none."""
        markers = [at for at, (header, _) in enumerate(batches) if header.is_control]
        return [as_abort(each) if at == markers[2] else each[1] for at, each in enumerate(batches)]

    rewrite(path / "orders.valid-0", half_a_batch)
    rewrite(path / "orders.valid-1", doubled)
    rewrite(path / "revenue.1m-0", a_wrong_sum)
    rewrite(path / "__validate.ledger-0", without_a_decision)
    return AuditConfig(data_directory=str(path))


def test_every_wrong_is_named_by_its_place(spark: SparkSession, world: World, tmp_path: Path) -> None:
    checks = by_name(Audit(spark, tampered(world, tmp_path / "data")).checks())
    assert {name: each.verdict for name, each in checks.items()} == dict.fromkeys(checks, Verdict.WRONG)
    coverage = checks["coverage"]
    assert set(coverage.found) == {"lost", "duplicated", "reordered"}
    assert all(
        each.topic == "orders.raw" and each.offset is not None for each in coverage.findings if each.kind == "lost"
    )
    assert set(checks["__validate.ledger"].found) == {"missing decision", "wrong count", "undecided batch"}
    assert set(checks["sums"].found) >= {"wrong sum"}
    assert checks["__aggregate.ledger"].found == {"wrong digest": 1}
    segments = checks["segments"]
    assert set(segments.found) == {"half visible", "undecided"}
    assert any(each.topic == "orders.valid" and each.partition == 0 for each in segments.findings)


def test_a_damaged_segment_is_wrong_and_what_it_hides_is_unknown(
    spark: SparkSession, world: World, tmp_path: Path
) -> None:
    shutil.copytree(world.data_dir, tmp_path / "data")
    log = next((tmp_path / "data" / "orders.valid-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[100] ^= 1
    log.write_bytes(data)
    config = AuditConfig(data_directory=str(tmp_path / "data"), revenue_topic="")
    checks = by_name(Audit(spark, config).checks())
    assert checks["coverage"].verdict is Verdict.UNKNOWN
    assert "orders.valid-0" in (checks["coverage"].unknown or "")
    assert "the CRC of this batch" in (checks["coverage"].unknown or "")
    segments = checks["segments"]
    assert segments.verdict is Verdict.WRONG
    assert [(each.kind, each.topic, each.partition, each.offset) for each in segments.findings] == [
        ("crc", "orders.valid", 0, 0)
    ]


def test_a_place_without_a_pipeline_cannot_be_reported(spark: SparkSession, world: World, tmp_path: Path) -> None:
    config = replace(AuditConfig(data_directory=str(world.data_dir)), source_topic="invoices", revenue_topic="")
    checks = by_name(Audit(spark, config).checks())
    assert checks["coverage"].verdict is Verdict.UNKNOWN
    assert "has no invoices" in (checks["coverage"].unknown or "")
