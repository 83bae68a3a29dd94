"""The variables of docs/compose/three-brokers.yaml, on ports that are free here: three brokers by either listener."""

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from barnabas.client.admin.nodes import start_node, stop_node
from barnabas.client.admin.topics import create_topic, describe_topics
from barnabas.client.client import Client
from tests.compat.model import Client as StockClient
from tests.compat.model import Message
from tests.compat.test_front_door import ComposedBroker
from tests.support.ports import unused_port
from tests.support.processes.server import ROOT

FILE = ROOT / "docs" / "compose" / "three-brokers.yaml"
NODES = 3
HOST, INSIDE = "9092", "19092"  # the ports of the first broker's two listeners in the file


class Ways(NamedTuple):
    """The ports of the three brokers, as clients on the machine and as other containers are told them."""

    outside: list[int]
    inside: list[int]
    broker: ComposedBroker


class ThreeBrokers(ComposedBroker):
    def command(self) -> list[str]:
        return [*super().command(), "--brokers", str(NODES)]


def unused_ports(count: int) -> list[int]:
    """So many that follow each other."""
    while True:
        first = unused_port()
        try:
            with ExitStack() as taken:
                for port in range(first, first + count):
                    taken.enter_context(socket.create_server(("", port)))
        except OSError:
            continue  # one of them is in use: the next ones
        return list(range(first, first + count))


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    """The names of the file's containers are addresses of this machine here."""
    ports_here = unused_ports(2 * NODES)
    outside, inside = ports_here[:NODES], ports_here[NODES:]
    variables = dict(re.findall(r'^      ([A-Z_]+): "(.*)"$', FILE.read_text(encoding="utf-8"), re.MULTILINE))
    del variables["KAFKA_LOG_DIRS"]
    ports = {HOST: str(outside[0]), INSIDE: str(inside[0])}
    broker = ThreeBrokers(tmp_path_factory.mktemp("three-brokers") / "data")
    broker.environment = {name: _here(value, ports) for name, value in variables.items()}
    with broker:
        yield Ways(outside, inside, broker)


def _here(value: str, ports: Mapping[str, str]) -> str:
    """The value of a variable, with the ports and hosts of this machine in place of the file's."""
    named = value.replace("broker-1", "127.0.0.2").replace("localhost", "127.0.0.1")
    return re.sub(r":(\d+)", lambda found: ":" + ports[found[1]], named)


def test_every_variable_of_the_file_counts(ways: Ways) -> None:
    assert "WARNING" not in ways.broker.log


@pytest.mark.parametrize("way", ["outside", "inside"])
def test_each_listener_tells_the_addresses_of_three_brokers_on_its_own_ports(ways: Ways, way: str) -> None:
    ports, host = getattr(ways, way), {"outside": "127.0.0.1", "inside": "127.0.0.2"}[way]
    for port in ports:
        with Client(f"{host}:{port}") as client:
            told = client.connect().brokers
        assert [(node, each.host, each.port) for node, each in sorted(told.items())] == [
            (node, host, its_port) for node, its_port in enumerate(ports, 1)
        ]


def test_topics_have_three_replicas_and_outlive_the_stop_of_a_broker(
    ways: Ways, clients: Mapping[str, StockClient]
) -> None:
    addresses = ",".join(f"127.0.0.1:{port}" for port in ways.outside)
    with Client(addresses) as client:
        create_topic(client, "orders", partitions=NODES)
        (topic,) = describe_topics(client, ["orders"])
        assert [sorted(info.isr) for info in topic.partitions.values()] == [[1, 2, 3]] * NODES
        stop_node(client, 2)
        messages = [Message(number, b"k", b"v") for number in range(NODES)]
        clients["confluent-kafka"].write(addresses, "orders", messages, "none")
        start_node(client, 2)
    assert len(clients["confluent-kafka"].read(addresses, "orders")) == NODES
