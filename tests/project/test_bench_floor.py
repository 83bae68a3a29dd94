"""The floor answers the raw client rightly: what it writes are batches, and what it reads are those it wrote."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.records.builder import NewRecord, build_batch
from bench.peers.floor_process import FloorProcess
from bench.peers.measure import blast
from tests.support import requests
from tests.support.missing import missing
from tests.support.probes.wire import Wire

PRODUCE_VERSION, FETCH_VERSION = 9, 12
VALUE = b"v" * 1000


@pytest.fixture
def floor(tmp_path: Path) -> Iterator[FloorProcess]:
    if shutil.which("cc") is None:
        missing("there is no C compiler, and the floor is C")
    with FloorProcess(tmp_path / "data") as process:
        yield process


def produce(topic: str) -> ProduceRequest:
    batch = build_batch([NewRecord(None, VALUE, (), 1000)] * 16)
    return requests.produce(batch, topic, acks=1)


def test_produced_batches_are_answered_with_their_offsets_and_fetched_from_there(floor: FloorProcess) -> None:
    with Wire(floor.port) as wire:
        for number in range(3):
            (topic,) = wire.ask(produce("t"), PRODUCE_VERSION).responses
            (partition,) = topic.partition_responses
            assert (topic.name, partition.error_code, partition.base_offset) == ("t", 0, 16 * number)
        (topic,) = wire.ask(requests.fetch(offset=16, max_bytes=20_000), FETCH_VERSION).responses
        (partition,) = topic.partitions
        assert (topic.topic, partition.error_code, partition.high_watermark) == ("t", 0, 48)
        records = bytes(partition.records)
        assert int.from_bytes(records[:8], "big") == 16
        assert records.count(VALUE) == 16


def test_another_topic_begins_anew(floor: FloorProcess) -> None:
    with Wire(floor.port) as wire:
        wire.ask(produce("a"), PRODUCE_VERSION)
        (topic,) = wire.ask(produce("b"), PRODUCE_VERSION).responses
        assert topic.partition_responses[0].base_offset == 0


def test_the_raw_client_writes_and_reads_without_an_error(floor: FloorProcess) -> None:
    written = blast("produce", floor.port, "t", connections=20, depth=32, size=1000, records=16, count=4000, seconds=30)
    assert (written["requests"], written["errors"]) == (4000 - 20, 0)
    read = blast("fetch", floor.port, "t", seconds=0.2)
    assert read["megabytes"] > 0
    assert (floor.data_dir / "floor.log").stat().st_size == 4000 * len(build_batch([NewRecord(None, VALUE)] * 16))
