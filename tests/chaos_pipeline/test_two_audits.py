"""The pipeline's own audit and that of these tests, written apart, say the same of a job whose driver was killed."""

import json
from collections import Counter
from pathlib import Path

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.consume.consumer import Consumer
from barnabas.client.produce.producer import Producer
from barnabas.protocol.records.record import BatchRecord
from pipeline.demo.orders import OrderStream
from tests.support.chaos import audit
from tests.support.chaos.driver import SparkProgram, stock_jars
from tests.support.processes.server import Server

ORDERS, ORDERS_PER_BATCH = 3000, 600
RAW, VALID, REJECTED = "orders.raw", "orders.valid", "orders.rejected"
ORDERED_AT_MS = 1_700_000_000_000
WITH_STOCK_JARS = {"PYSPARK_SUBMIT_ARGS": f"--jars {stock_jars()} pyspark-shell"}


@pytest.mark.long
@pytest.mark.parametrize(("sink", "status"), [("barnabas", 0), ("kafka", 1)])
def test_both_audits_agree(server: Server, tmp_path: Path, seed: int, sink: str, status: int) -> None:
    _order(server.address, seed)
    with _job("validate", tmp_path / "one", server, *_of_validate(tmp_path, sink)) as killed:
        _wait_for(server.address, VALID, ORDERS // 2)
        killed.kill_jvm()
    with _job("validate", tmp_path / "two", server, *_of_validate(tmp_path, sink)) as again:
        assert again.status() == 0
    report = tmp_path / "verdict.json"
    has_ledger = "true" if sink == "barnabas" else "false"
    arguments = ("--report", str(report), "--has-ledger", has_ledger, "--revenue-topic", "")
    with _job("audit", tmp_path / "three", server, *arguments) as theirs:
        assert theirs.status() == status
    inputs = Counter((RAW, each.partition, each.record.offset) for each in audit.committed(server.address, RAW))
    outputs = Counter(
        _source_of(each.record) for topic in (VALID, REJECTED) for each in audit.committed(server.address, topic)
    )
    assert inputs - outputs == Counter()
    assert bool(outputs - inputs) == (sink == "kafka")
    assert json.loads(report.read_text())["verdict"] == ("right" if outputs == inputs else "wrong")


def _order(bootstrap: str, seed: int) -> None:
    """The topics, and orders that somebody placed."""
    orders = OrderStream(seed)
    with Client(bootstrap) as client:
        for topic in (RAW, VALID, REJECTED):
            create_topic(client, topic, partitions=audit.PARTITIONS)
        with Producer(client) as producer:
            for number in range(ORDERS):
                order = orders.next(ORDERED_AT_MS + number)
                producer.send(RAW, order.value, key=order.key)


def _of_validate(work: Path, sink: str) -> tuple[str, ...]:
    return (
        *("--checkpoint-location", str(work / "checkpoint")),
        *("--max-offsets-per-trigger", str(ORDERS_PER_BATCH)),
        *("--sink-format", sink),
    )


def _job(name: str, work: Path, server: Server, *arguments: str) -> SparkProgram:
    command = ["-m", f"pipeline.jobs.{name}", "--bootstrap-servers", server.address, *arguments]
    return SparkProgram(command, work, WITH_STOCK_JARS)


def _wait_for(bootstrap: str, topic: str, records: int) -> None:
    """Until so many records are there, committed or not."""
    with Client(bootstrap) as client:
        consumer = Consumer(client, auto_offset_reset="earliest")
        consumer.assign([(topic, each) for each in range(audit.PARTITIONS)])
        deadline = client.deadline(240_000)
        count = 0
        while count < records:
            assert not deadline.is_over, f"{count} of {records} records"
            count += len(consumer.poll(1000))


def _source_of(record: BatchRecord) -> tuple[str, int, int]:
    """Which record an output was made of, by its headers."""
    headers = {name: (value or b"").decode() for name, value in record.headers}
    return headers["src-topic"], int(headers["src-partition"]), int(headers["src-offset"])


def test_the_audit_counts_what_is_lost_doubled_and_out_of_order(server: Server) -> None:
    rows = audit.fill(server.address, "in", 300)
    assert audit.audit(server.address, "in", rows) == audit.Verdict(300, lost=0, duplicated=0, reordered=0)
    lost, doubled = rows[100], rows[200]
    late = next(row for row in reversed(rows[:100]) if row[0] == rows[150][0])  # behind a later row of its key
    written = [row for row in rows[:160] if row not in (lost, late)] + [late, *rows[160:], doubled]
    audit.make_topic(server.address, "out")
    with Client(server.address) as client, Producer(client) as producer:
        for key, number in written:
            producer.send("out", b"%d" % number, key=key)
    assert audit.audit(server.address, "out", rows) == audit.Verdict(300, lost=1, duplicated=1, reordered=1)
