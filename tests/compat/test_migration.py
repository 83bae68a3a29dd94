"""Stock clients are moved from one group protocol to the other and back, one at a time, while records flow."""

import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from barnabas.client.admin.groups import describe_group
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from tests.support.clients.java import program_command
from tests.support.processes.server import Server
from tests.support.waiting import until

PARTITIONS, MEMBERS = 6, 3
DEADLINE_S = 90
_PROGRAM = Path(__file__).parent / "java" / "Migration.java"
SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.assignment.interval.ms": 0,
    "log.retention.ms": -1,
}
CLASSIC = {"heartbeat.interval.ms": 100, "session.timeout.ms": 10_000}
CONSUMER = {"group.protocol": "consumer"}


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, new_server: Callable[[Path, Mapping[str, object]], Server]
) -> Iterator[Server]:
    with new_server(tmp_path_factory.mktemp("migration") / "data", SETTINGS) as server:
        yield server


class _Member:
    """A consumer in a thread of its own; what it read is committed when it gives partitions up, and when it leaves."""

    def __init__(self, server: Server, group: str, settings: Mapping[str, object], read: list[int]) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": server.address,
                "group.id": group,
                "auto.offset.reset": "earliest",
                **settings,
            }
        )
        self._consumer.subscribe([group])
        self._read = read
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll)
        self.has = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _poll(self) -> None:
        while not self._stop.is_set():
            for message in self._consumer.consume(100, timeout=0.05):
                value = message.value()
                if message.error() is None and value is not None:
                    self._read.append(int(value))
            self.has = len(self._consumer.assignment())
        self._consumer.close()


class _Writer:
    """Numbers, one after another, from a thread."""

    def __init__(self, server: Server, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": server.address, "enable.idempotence": True})
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.count = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _write(self) -> None:
        while not self._stop.wait(0.005):
            self._producer.produce(self._topic, b"%d" % self.count, partition=self.count % PARTITIONS)
            self.count += 1
            self._producer.poll(0)
        if self._producer.flush(30):
            raise KafkaException("records were not acknowledged")


def _types(client: Client, group: str) -> list[str]:
    """Of the group, and of its members."""
    found = describe_group(client, group)
    return [found.type, *sorted(each.consumer.type or "" if each.consumer else "classic" for each in found.members)]


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_librdkafkas_members_are_moved_there_and_back_and_nothing_is_lost(server: Server, assignor: str) -> None:
    """Not with cooperative-sticky: librdkafka keeps data of its own in assignments then, which refuses an upgrade."""
    group = f"moved-{assignor}"
    read: list[int] = []
    classic = {**CLASSIC, "partition.assignment.strategy": assignor}
    with Client(server.address) as client, ExitStack() as stack:
        create_topic(client, group, partitions=PARTITIONS)
        with _Writer(server, group) as writer:
            members = [stack.enter_context(_Member(server, group, classic, read)) for _ in range(MEMBERS)]
            until(partial(_is_shared, members), DEADLINE_S)
            for settings, kind in ((CONSUMER, "consumer"), (classic, "classic")):
                for moved in range(MEMBERS):
                    members.pop(0).close()
                    members.append(stack.enter_context(_Member(server, group, settings, read)))
                    until(partial(_is_shared, members), DEADLINE_S)
                    if moved < MEMBERS - 1:
                        assert _types(client, group)[0] == "consumer"
                assert _types(client, group) == [kind] * (MEMBERS + 1)
        until(lambda: {*read} == {*range(writer.count)}, DEADLINE_S)
    assert writer.count > 0


def test_javas_members_are_moved_there_and_back_and_nothing_is_lost(server: Server) -> None:
    group = "moved-java"
    with Client(server.address) as client:
        create_topic(client, group, partitions=PARTITIONS)
    command = [*program_command(_PROGRAM, client_version="4.4.0"), server.address, group, group, str(PARTITIONS)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
    assert said == [
        "Consumer false,true",
        "Consumer true,true",
        "Consumer false,true",
        "Classic -,-",
        "read all of them",
    ]


def _is_shared(members: list[_Member]) -> bool:
    """Whether each has as many partitions as the others."""
    return [member.has for member in members] == [PARTITIONS // MEMBERS] * MEMBERS
