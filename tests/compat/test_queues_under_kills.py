"""Java share consumers of several versions go on while the broker is killed: no record is lost, none accepted twice."""

from collections import Counter
from functools import partial

import pytest

from barnabas.client.admin.share_offsets import share_offsets
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from tests.support.clients.java import program_command
from tests.support.clients.queues import FROM_THE_FIRST, set_of_group
from tests.support.processes.program import Program
from tests.support.processes.server import ROOT, Server
from tests.support.waiting import PATIENCE_S, until

COUNT = 1_500
KILLED_AT = (100, 500, 900)
"""So many records are accepted when the broker is killed."""
_PROGRAM = ROOT / "tests" / "compat" / "java" / "ShareWorkers.java"


@pytest.mark.parametrize(
    "version", ["4.4.0", *(pytest.param(each, marks=pytest.mark.long) for each in ("4.1.1", "4.2.0"))]
)
def test_kills_lose_no_record_and_have_none_accepted_twice(server: Server, version: str) -> None:
    topic = f"kills-{version}"
    _fill(server, topic)
    with Program([*program_command(_PROGRAM, client_version=version), server.address, topic, topic]) as workers:
        for count in KILLED_AT:
            until(partial(_have_accepted, workers, count), PATIENCE_S)
            server.kill()
            server.start()
        until(lambda: _is_finished(server, topic), PATIENCE_S)
        workers.close_input()
        workers.line("done")
        delivered, accepted = Counter(_said(workers, "delivered")), Counter(_said(workers, "accepted"))
        unknown = set(_said(workers, "unknown"))
    assert sorted(delivered) == list(range(COUNT))
    assert [offset for offset, times in accepted.items() if times > 1] == []
    assert set(delivered) - set(accepted) <= unknown


def _fill(server: Server, topic: str) -> None:
    """Make a topic of one partition, and its group begin with the first record. Each three records are a batch."""
    with Client(server.address) as client:
        create_topic(client, topic, partitions=1)
        set_of_group(client, topic, FROM_THE_FIRST)
        with Producer(client) as producer:
            for number in range(COUNT):
                producer.send(topic, b"%d" % number)
                if number % 3 == 2:
                    producer.flush()


def _said(workers: Program, what: str) -> list[int]:
    return [int(line.split()[1]) for line in workers.lines if line.startswith(f"{what} ")]


def _is_finished(server: Server, group: str) -> bool:
    """Whether each record was accepted."""
    with Client(server.address) as client:
        return [each.lag for each in share_offsets(client, group).values()] == [0]


def _have_accepted(workers: Program, count: int) -> bool:
    return len(_said(workers, "accepted")) >= count
