"""A disk that stock clients fill, and that is made room on while they go on: nothing lost, nothing twice, no restart.

The disk is this machine's under a limit of bytes, so the test may run wherever the others do.
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.broker.config import BrokerConfig
from barnabas.broker.network.bound_sockets import bind_listeners
from barnabas.broker.server.broker import Broker
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.start import start_broker
from tests.compat.model import PARTITIONS, StreamingClient
from tests.support.depth import long
from tests.support.files.limited_files import LimitedFiles
from tests.support.waiting import until

CAPACITY = 8 << 20
SETTINGS = {"listeners": "PLAINTEXT://127.0.0.1:0", "num.partitions": "1", "log.segment.bytes": str(1 << 20)}
COUNT = 2_000
BATCH_BYTES = 100_000


class SmallDisk:
    """A broker in a thread."""

    def __init__(self, data_dir: Path) -> None:
        self.files = LimitedFiles(CAPACITY)
        self._config = BrokerConfig({"log.dirs": str(data_dir), **SETTINGS})
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)

    async def _start(self) -> None:
        bound = bind_listeners(self._config)
        environment = Environment(files=self.files)
        self.broker: Broker = await start_broker(self._config, bound, descriptor_limit=1024, environment=environment)
        self.address = f"127.0.0.1:{bound[0].port}"

    @property
    def is_full(self) -> bool:
        return bool(self.broker.services.disk_space.full_reasons)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.broker.stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "data")
    yield disk
    disk.close()


@pytest.mark.parametrize("name", ["confluent-kafka", "java-4.4.0", long("franz-go"), "kafkajs", "platformatic"])
def test_a_producer_goes_on_when_a_topic_is_deleted(
    disk: SmallDisk, clients: Mapping[str, StreamingClient], name: str
) -> None:
    admin = AdminClient({"bootstrap.servers": disk.address})
    for made in admin.create_topics([NewTopic("t", PARTITIONS), NewTopic("large")]).values():
        made.result(30)
    _fill(disk)
    acknowledged: dict[int, int] = {}
    streaming = threading.Thread(
        target=clients[name].stream, args=(disk.address, "t", COUNT, acknowledged.__setitem__), daemon=True
    )
    streaming.start()
    partitions = disk.broker.services.partitions
    until(lambda: any(partitions.is_open("t", number) for number in range(PARTITIONS)))  # it has met the full disk
    assert disk.is_full
    assert acknowledged == {}
    admin.delete_topics(["large"])["large"].result(30)
    streaming.join(60)
    assert sorted(acknowledged) == list(range(COUNT))
    assert not disk.is_full
    found = clients["confluent-kafka"].read(disk.address, "t")
    assert sorted(int(record.value or b"") for record in found) == list(range(COUNT))
    assert [record for record in found if acknowledged[int(record.value or b"")] != record.offset] == []


def _fill(disk: SmallDisk) -> None:
    producer = Producer({"bootstrap.servers": disk.address, "linger.ms": 0, "message.timeout.ms": 1_000})
    while not disk.is_full:
        producer.produce("large", value=bytes(BATCH_BYTES))
        producer.flush(10)
