"""Three nodes for the tests of a module, and consumers of the Java client in one JVM."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from tests.compat.model import quick_groups
from tests.compat.nodes.java_members import JavaMembers
from tests.support.processes.moves import Moves
from tests.support.processes.three_nodes import ThreeNodes

PARTITIONS = 3
SESSION_TIMEOUT_MS = 6_000  # for a member whose farewell was sent to a coordinator that moved
SETTINGS = quick_groups(SESSION_TIMEOUT_MS) | {"num.partitions": PARTITIONS}


class Nodes:
    """Those of a module, as one test uses them."""

    def __init__(self, server: ThreeNodes) -> None:
        self.server, self.address = server, server.address
        self._moves = ExitStack()

    def topic(self, name: str) -> str:
        """A new topic of three partitions, led by a node each."""
        with Client(self.address) as client:
            create_topic(client, name, partitions=PARTITIONS)
        return name

    def moves(self, *topics: str) -> Moves:
        """What moves these and the coordinators. In the end all nodes run."""
        return self._moves.enter_context(Moves(self.address, topics))

    def close(self) -> None:
        self._moves.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeNodes]:
    with ThreeNodes(tmp_path_factory.mktemp("nodes") / "data", SETTINGS) as server:
        yield server


@pytest.fixture
def nodes(server: ThreeNodes) -> Iterator[Nodes]:
    with closing(Nodes(server)) as nodes:
        yield nodes


@pytest.fixture(scope="session")
def java_members() -> Iterator[JavaMembers]:
    members = JavaMembers()
    yield members
    members.close()
