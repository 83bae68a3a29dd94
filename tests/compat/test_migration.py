"""Stock clients are moved from one group protocol to the other and back, one at a time, while records flow."""

import subprocess
import threading
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Self

import pytest
from confluent_kafka import KafkaException, Producer

from barnabas.client.admin.groups import describe_group
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from tests.compat.model import quick_groups
from tests.compat.readers import Reader
from tests.support.clients.java import program_command
from tests.support.processes.server import Server
from tests.support.waiting import until

PARTITIONS, MEMBERS = 6, 3
DEADLINE_S = 90
_PROGRAM = Path(__file__).parent / "java" / "Migration.java"
SETTINGS = quick_groups(heartbeat_interval_ms=100) | {"log.retention.ms": -1}
CLASSIC = {"heartbeat.interval.ms": 100, "session.timeout.ms": 10_000}
CONSUMER = {"group.protocol": "consumer"}


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
    classic = {**CLASSIC, "partition.assignment.strategy": assignor}
    readers: list[Reader] = []
    with Client(server.address) as client, ExitStack() as stack:
        create_topic(client, group, partitions=PARTITIONS)

        def reader(settings: Mapping[str, object]) -> Reader:
            readers.append(stack.enter_context(closing(Reader(server.address, group, group, settings))))
            return readers[-1]

        with _Writer(server, group) as writer:
            members = [reader(classic) for _ in range(MEMBERS)]
            until(partial(_is_shared, members), DEADLINE_S)
            for settings, kind in ((CONSUMER, "consumer"), (classic, "classic")):
                for moved in range(MEMBERS):
                    members.pop(0).close()
                    members.append(reader(settings))
                    until(partial(_is_shared, members), DEADLINE_S)
                    if moved < MEMBERS - 1:
                        assert _types(client, group)[0] == "consumer"
                assert _types(client, group) == [kind] * (MEMBERS + 1)
        everything = {*range(writer.count)}
        until(lambda: {int(value) for each in readers for _, _, value in each.read} == everything, DEADLINE_S)
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


def _is_shared(members: list[Reader]) -> bool:
    """Whether each has as many partitions as the others."""
    return [len(member.has) for member in members] == [PARTITIONS // MEMBERS] * MEMBERS
