"""Listeners of Spring for Apache Kafka in share groups, with manual and with implicit acknowledgement."""

from collections.abc import Iterator

import pytest

from barnabas.client.admin.share_offsets import share_offsets
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from tests.support.clients.java import program_command
from tests.support.clients.queues import FROM_THE_FIRST, send_numbers, set_of_group
from tests.support.kafka.jars import spring_libs
from tests.support.processes.program import Program
from tests.support.processes.server import ROOT, Server

SETTINGS = {  # a member learns of its partitions by the second heartbeat
    "group.share.min.heartbeat.interval.ms": 100,
    "group.share.heartbeat.interval.ms": 100,
}
GROUPS = ("manual", "implicit")
_PROGRAM = ROOT / "tests" / "compat" / "java" / "SpringQueue.java"


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    """A client of a broker with ten jobs, which both groups read from the first."""
    with Client(server.address) as client:
        create_topic(client, "jobs", partitions=1)
        for group in GROUPS:
            set_of_group(client, group, FROM_THE_FIRST)
        send_numbers(client, "jobs", range(10))
        yield client


def test_listeners_acknowledge_release_reject_and_fail(server: Server, client: Client) -> None:
    with Program(program_command(_PROGRAM, server.address, "jobs", libs=spring_libs())) as listeners:
        deliveries = listeners.succeed()
    firsts = [f"{group} {number} 1" for group in GROUPS for number in range(10)]
    assert sorted(deliveries) == sorted([*firsts, "manual 3 2", "manual 3 3"])
    assert {group: share_offsets(client, group)["jobs", 0].lag for group in GROUPS} == dict.fromkeys(GROUPS, 0)
