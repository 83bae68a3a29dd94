"""Members of a share group come and go, are killed and stall, while nodes are killed and leaders move.

No record is finished twice, none comes again after it was finished, and none is lost. It is checked while it happens,
in `chaos/share_ledger.py`, and at the end against what was written.
"""

from collections.abc import Iterator

import pytest

from barnabas import Barnabas
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from tests.compat.chaos.share_play import ShareScript, play_share_group
from tests.compat.chaos.troubles import NODES, OFFSETS_TOPIC, SHARE_STATE_TOPIC, OneBroker, ThreeNodes
from tests.support.processes.server import Server

PARTITIONS = 3
MEMBERS = 4
DELIVERY_COUNT_LIMIT = 10
SETTINGS: dict[str, object] = {
    "group.share.min.session.timeout.ms": 1_000,
    "group.share.session.timeout.ms": 3_000,
    "group.share.min.heartbeat.interval.ms": 500,
    "group.share.heartbeat.interval.ms": 500,
    "group.share.assignment.interval.ms": 0,
    "group.share.min.record.lock.duration.ms": 1_000,
    "group.share.record.lock.duration.ms": 2_000,
}


def _script(seed: int, moves: int = 10) -> ShareScript:
    return ShareScript(MEMBERS, moves, seed, DELIVERY_COUNT_LIMIT)


def _topic(address: str, name: str) -> str:
    with Client(address) as client:
        create_topic(client, name, partitions=PARTITIONS)
    return name


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Barnabas]:
    """Barnabas's, whatever --against says."""
    config = SETTINGS | {"default.replication.factor": len(NODES)}
    for internal in ("offsets.topic", "share.coordinator.state.topic"):
        config |= {f"{internal}.num.partitions": 1, f"{internal}.replication.factor": len(NODES)}
    with Barnabas(brokers=len(NODES), data_dir=tmp_path_factory.mktemp("nodes") / "data", config=config) as nodes:
        yield nodes


def test_records_are_finished_once_while_nodes_are_killed_and_leaders_move(nodes: Barnabas, seed: int) -> None:
    topic = _topic(nodes.bootstrap_servers, "moved")
    troubles = ThreeNodes(nodes, topic, PARTITIONS, (OFFSETS_TOPIC, SHARE_STATE_TOPIC))
    ledger = play_share_group(nodes.bootstrap_servers, topic, _script(seed), troubles)
    assert ledger.deliveries_again > 0


def test_records_are_finished_once_over_kills_of_one_broker(server: Server, seed: int) -> None:
    topic = _topic(server.address, "killed")
    assert play_share_group(server.address, topic, _script(seed), OneBroker(server)).deliveries_again > 0


@pytest.mark.long
def test_they_are_so_for_long(nodes: Barnabas, seed: int, rounds: int) -> None:
    for each in range(seed, seed + rounds):
        topic = _topic(nodes.bootstrap_servers, f"long-{each}")
        troubles = ThreeNodes(nodes, topic, PARTITIONS, (OFFSETS_TOPIC, SHARE_STATE_TOPIC))
        play_share_group(nodes.bootstrap_servers, topic, _script(each, moves=50), troubles)
