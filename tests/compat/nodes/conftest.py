"""Three nodes for the tests of a module, and consumers of the Java client in one JVM."""

from collections.abc import Callable, Iterator

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from tests.compat.nodes.java_members import JavaMembers
from tests.support.processes.moves import Moves
from tests.support.processes.three_nodes import ThreeNodes

PARTITIONS = 3
HEARTBEAT_INTERVAL_MS = 200
SESSION_TIMEOUT_MS = 6_000  # for a member whose farewell was sent to a coordinator that moved
SETTINGS = {
    "num.partitions": PARTITIONS,
    "group.min.session.timeout.ms": 1_000,
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.min.session.timeout.ms": SESSION_TIMEOUT_MS,
    "group.consumer.session.timeout.ms": SESSION_TIMEOUT_MS,
    "group.consumer.min.heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
    "group.consumer.assignment.interval.ms": 0,
}
NewTopic = Callable[[str], str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeNodes]:
    with ThreeNodes(tmp_path_factory.mktemp("nodes") / "data", SETTINGS) as server:
        yield server


@pytest.fixture
def new_topic(server: ThreeNodes) -> NewTopic:
    """new_topic(name): a topic of three partitions, led by a node each."""

    def create(name: str) -> str:
        with Client(server.address) as client:
            create_topic(client, name, partitions=PARTITIONS)
        return name

    return create


@pytest.fixture
def moves(server: ThreeNodes) -> Iterator[Callable[..., Moves]]:
    """moves(topic, …): what moves these and the coordinators. In the end all nodes run."""
    made: list[Moves] = []

    def over(*topics: str) -> Moves:
        made.append(Moves(server.address, topics))
        return made[-1]

    yield over
    for each in made:
        with each:
            pass


@pytest.fixture(scope="session")
def java_members() -> Iterator[JavaMembers]:
    members = JavaMembers()
    yield members
    members.close()
