"""Members of a share group come and go, are killed and stall, while nodes are killed and leaders move.

No record is finished twice, none comes again after it was finished, and none is lost. It is checked while it happens,
in `chaos/share_ledger.py`, and at the end against what was written.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import Barnabas
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from tests.compat.chaos.play import Writer
from tests.compat.chaos.share_ledger import Delivery, ShareLedger
from tests.compat.chaos.share_members import ShareChaosMember
from tests.compat.chaos.share_play import ShareScript, play_share_group, set_up_group
from tests.compat.chaos.troubles import NODES, OFFSETS_TOPIC, SHARE_STATE_TOPIC, OneBroker, ThreeNodes
from tests.support.processes.planted import PlantedBroker
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until

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


def test_a_broker_that_takes_acknowledgements_of_another_holder_is_found(tmp_path: Path, seed: int) -> None:
    settings = SETTINGS | {"group.share.record.lock.duration.ms": 1_000}
    with PlantedBroker("acknowledgement by another member accepted", tmp_path / "data", settings) as broker:
        topic = _topic(broker.address, "planted")
        set_up_group(broker.address, topic, DELIVERY_COUNT_LIMIT)
        ledger = ShareLedger(DELIVERY_COUNT_LIMIT)
        writer = Writer(broker.address, topic)
        late, other = (ShareChaosMember(broker.address, topic, each, ledger, seed) for each in ("late", "other"))

        def is_found() -> bool:
            late.stall()
            return bool(ledger.broken)

        until(is_found, PATIENCE_S)
        writer.end()
        late.leave()
        other.leave()
    assert "late finished" in ledger.broken[0]
    assert "which it does not hold" in ledger.broken[0]


@pytest.mark.parametrize(
    ("acknowledged_before", "broken"),
    [
        (0, ["a finished (0, 1), which it does not hold: ['a: delivery 1', 'b: delivery 2']"]),
        (1, ["a finished (0, 1), which it does not hold: ['a: delivery 1', 'b: delivery 2']"]),
        (2, []),  # the start offset may be behind it: then no acknowledgement is refused
    ],
)
def test_the_ledger_finds_an_acknowledgement_of_another_holder(acknowledged_before: int, broken: list[str]) -> None:
    ledger = ShareLedger(DELIVERY_COUNT_LIMIT)
    records = [(0, 0), (0, 1)]
    ledger.delivered("a", [Delivery(each, 1) for each in records], ())
    ledger.delivered("b", [Delivery(each, 2) for each in records], ())
    ledger.sends(records[:acknowledged_before])
    ledger.sends(records[1:])
    ledger.confirmed("a", records[1:])
    assert ledger.broken == broken


@pytest.mark.long
def test_they_are_so_for_long(nodes: Barnabas, seed: int, rounds: int) -> None:
    for each in range(seed, seed + rounds):
        topic = _topic(nodes.bootstrap_servers, f"long-{each}")
        troubles = ThreeNodes(nodes, topic, PARTITIONS, (OFFSETS_TOPIC, SHARE_STATE_TOPIC))
        play_share_group(nodes.bootstrap_servers, topic, _script(each, moves=50), troubles)
