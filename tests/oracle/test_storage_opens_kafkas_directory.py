"""Storage opens a partition that Apache Kafka wrote, with committed, aborted and open transactions in rolled segments.

Once Kafka was stopped, once killed (indexes preallocated, no marker). What committed readers may see must be what
Kafka's own consumer saw, the last stable offset must stand before the open transaction, and idempotent retries are
recognised.
"""

import os
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.protocol.files.checkpoints import decode_partition_metadata
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.record import iter_records
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.log.log import PartitionLog
from tests.support.clients import topics
from tests.support.kafka.process import KafkaProcess
from tests.support.waiting import PATIENCE_S

ROUNDS = 30
SEGMENT_BYTES = 1 << 20  # the smallest Kafka 4 takes


def fill(address: str) -> list[str]:
    """Transactions of two producers, the last one left open; returns what a committed reader sees."""
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic("t", 1, 1, config={"segment.bytes": str(SEGMENT_BYTES)})])["t"].result(PATIENCE_S)
    ender = Producer({"bootstrap.servers": address, "transactional.id": "ender", "linger.ms": 0})
    opener = Producer({"bootstrap.servers": address, "transactional.id": "opener", "linger.ms": 0})
    ender.init_transactions(30)
    opener.init_transactions(30)
    for number in range(ROUNDS):
        ender.begin_transaction()
        for part in range(5):
            ender.produce("t", f"{number}-{part} ".encode() * 4000, partition=0)
        ender.flush(30)
        if number % 3 == 0:
            ender.abort_transaction(30)
        else:
            ender.commit_transaction(30)
    topics.wait_for_markers(address, "t")  # the last could stand behind what comes now
    opener.begin_transaction()
    opener.produce("t", b"open", partition=0)
    opener.flush(30)
    return [record.value.decode() for record in topics.committed(address, "t")]


def read_committed(log: PartitionLog) -> list[str]:
    """As a consumer does it."""
    found: list[str] = []
    offset = log.log_start_offset
    while True:
        result = log.read(offset, 1 << 20, committed=True, force_first_batch=True)
        if not result.size:
            return found
        data = memoryview(result.read_all())
        waiting = sorted(result.aborted or [], key=lambda txn: txn[1])
        skipped: set[int] = set()
        for position, header in iter_batches(data):
            while waiting and waiting[0][1] <= header.last_offset:
                skipped.add(waiting.pop(0)[0])
            if header.is_control:
                skipped.discard(header.producer_id)
            elif header.producer_id not in skipped:
                batch = data[position : position + header.size_in_bytes]
                found += [(record.value or b"").decode() for record in iter_records(batch)]
            offset = header.next_offset


@pytest.fixture(scope="module", params=["stopped", "killed"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[PartitionLog, list[str]]:
    data_dir = tmp_path_factory.mktemp("kafka") / "data"
    with KafkaProcess(data_dir) as kafka:
        seen = fill(kafka.address)
        if request.param == "stopped":
            kafka.stop()
        else:
            kafka.kill()
    return open_log(data_dir), seen


def open_log(data_dir: Path) -> PartitionLog:
    directory = LogDirectory.open(str(data_dir), RealFiles(), node_id=1, new_id=lambda: os.urandom(16))
    topic_id = decode_partition_metadata((data_dir / "t-0" / "partition.metadata").read_bytes())
    return directory.open_log("t", 0, topic_id, LogConfig(segment_bytes=SEGMENT_BYTES), 0)


def test_committed_readers_see_what_kafkas_consumer_saw(opened: tuple[PartitionLog, list[str]]) -> None:
    log, seen = opened
    assert read_committed(log) == seen
    assert len(seen) == 5 * (ROUNDS - ROUNDS // 3)


def test_the_open_transaction_holds_the_last_stable_offset(opened: tuple[PartitionLog, list[str]]) -> None:
    log, _ = opened
    assert log.last_stable_offset == log.log_end_offset - 1 == log.high_watermark - 1


def test_nothing_was_dropped(opened: tuple[PartitionLog, list[str]]) -> None:
    log, _ = opened
    assert (log.recovered.bytes_dropped, log.recovered.segments_dropped) == (0, 0)
    assert len([name for name in log.directory.names() if name.endswith(".log")]) > 2


def test_a_batch_of_before_is_recognised(opened: tuple[PartitionLog, list[str]]) -> None:
    log, _ = opened
    last_data = None
    result = log.read(log.log_end_offset - 1, 1 << 20, committed=False, force_first_batch=True)
    for _, header in iter_batches(result.read_all()):
        last_data = header
    assert last_data is not None
    again = build_batch(
        [(None, b"open", (), 0)],
        producer_id=last_data.producer_id,
        producer_epoch=last_data.producer_epoch,
        base_sequence=last_data.base_sequence,
        transactional=True,
    )
    appended = log.append(again, leader_epoch=log.leader_epoch, now_ms=0)
    assert (appended.base_offset, appended.is_duplicate) == (last_data.base_offset, True)
