"""Stock clients are moved from one group protocol to the other and back, one at a time, while records flow."""

import subprocess
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest

from barnabas.client.admin.groups import describe_group
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from tests.compat.chaos.play import Writer
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

        writer = Writer(server.address, group)
        stack.callback(writer.end)
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
        assert writer.end()
        everything = {*writer.acknowledged.values()}
        until(lambda: {value for each in readers for _, _, value in each.read} == everything, DEADLINE_S)


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
