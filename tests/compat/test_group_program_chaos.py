"""Members of the Java, Go and JavaScript clients come and go, are killed, and so are the nodes they talk to.

Nothing acknowledged is lost, nothing is delivered again but what was not committed, committed offsets never go back,
every rebalance ends, and in the end the members have disjoint parts of all partitions. Most of it is checked while it
happens, in `chaos/ledger.py`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas import Barnabas
from tests.compat.chaos.program_play import Script, play_programs
from tests.compat.chaos.programs import CLASSIC, CONSUMER, COOPERATIVE, Command, franz_go, java, kafkajs, sarama
from tests.compat.chaos.troubles import NODES, OneBroker, ThreeNodes
from tests.compat.model import quick_groups
from tests.support.depth import long
from tests.support.processes.server import Server

PARTITIONS = 6
SESSION_TIMEOUT_MS = 6_000
SETTINGS = quick_groups(SESSION_TIMEOUT_MS) | {"offsets.topic.num.partitions": 1}
GROUPS: dict[str, tuple[str, Sequence[Command]]] = {
    "classic": (CLASSIC, (java, franz_go, sarama, kafkajs)),
    "consumer": (CONSUMER, (java, franz_go, java, franz_go)),
    "cooperative-java": (COOPERATIVE, (java,) * 3),
    "cooperative-franz-go": (COOPERATIVE, (franz_go,) * 4),
    "java": (CLASSIC, (java,) * 3),
    "franz-go": (CLASSIC, (franz_go,) * 5),
    "sarama": (CLASSIC, (sarama,) * 5),
    "kafkajs": (CLASSIC, (kafkajs,) * 5),
}


def _script(group: str, seed: int, moves: int = 10, *, is_static: bool = False) -> Script:
    protocol, programs = GROUPS[group]
    return Script(programs, protocol, PARTITIONS, seed, moves, SESSION_TIMEOUT_MS, is_static)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Barnabas]:
    """Barnabas's, whatever --against says."""
    with Barnabas(
        brokers=len(NODES), data_dir=tmp_path_factory.mktemp("chaos-nodes") / "data", config=SETTINGS
    ) as nodes:
        yield nodes


def _topic(address: str, name: str, replicas: int) -> str:
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(name, PARTITIONS, replicas)])[name].result(60)
    return name


@pytest.mark.parametrize("group", [long("classic"), "consumer"])
def test_programs_come_and_go_while_nodes_do(nodes: Barnabas, tmp_path: Path, seed: int, group: str) -> None:
    topic = _topic(nodes.bootstrap_servers, group, len(NODES))
    troubles = ThreeNodes(nodes, topic, PARTITIONS)
    ledger = play_programs(nodes.bootstrap_servers, topic, _script(group, seed), troubles, tmp_path)
    assert ledger.handovers > PARTITIONS, "nothing ever changed hands"


@pytest.mark.long
@pytest.mark.parametrize("is_static", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize("group", list(GROUPS))
def test_programs_do_so_for_long(
    nodes: Barnabas, tmp_path: Path, seed: int, rounds: int, group: str, is_static: bool
) -> None:
    for each in range(seed, seed + rounds):
        topic = _topic(nodes.bootstrap_servers, f"long-{group}-{is_static}-{each}", len(NODES))
        directory = tmp_path / str(each)
        directory.mkdir()
        script = _script(group, each, moves=50, is_static=is_static)
        play_programs(nodes.bootstrap_servers, topic, script, ThreeNodes(nodes, topic, PARTITIONS), directory)


@pytest.mark.long
@pytest.mark.parametrize("group", list(GROUPS))
def test_programs_come_and_go_over_kills_of_one_broker(server: Server, tmp_path: Path, seed: int, group: str) -> None:
    topic = _topic(server.address, f"{group}-one", 1)
    play_programs(server.address, topic, _script(group, seed, moves=30), OneBroker(server), tmp_path)
