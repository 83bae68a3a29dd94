"""Stock clients through two listeners of one broker that KAFKA_* variables alone set up, as in a compose file: one
straight, one advertised as a port that is mapped elsewhere. Whoever is told the wrong one does not get through.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest

from tests.compat.conftest import ALL
from tests.compat.model import PARTITIONS, Client, Message, by_position
from tests.support.processes.broker import READY, BrokerProcess
from tests.support.processes.forwarder import Forwarder

GROUPS = ("kafka-python", "confluent-kafka", "java-4.4.0", "franz-go")


class ComposedBroker(BrokerProcess):
    """A broker whose listeners and all else come from the environment."""

    environment: Mapping[str, str] = {}

    def command(self) -> list[str]:
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        program, command, *_ = super().command()
        return ["env", *variables, program, command, "--data-dir", str(self.data_dir)]

    def address_of(self, listener: int) -> str:
        """Where the listener of this number is, told by the ready line."""
        assert self._stdout is not None
        ready = self._stdout.first(self.is_ready_line, 0)
        assert ready is not None
        return ready.removeprefix(READY).split(" ")[0].split(",")[listener]


class TwoWays(NamedTuple):
    """The addresses of one broker, and the port in front of the second."""

    inside: str
    outside: str
    mapped: Forwarder


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoWays]:
    with Forwarder("127.0.0.2") as mapped:
        broker = ComposedBroker(tmp_path_factory.mktemp("composed") / "data")
        broker.environment = {
            "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
            "KAFKA_NODE_ID": "7",
            "KAFKA_PROCESS_ROLES": "broker,controller",
            "KAFKA_CONTROLLER_QUORUM_VOTERS": "7@localhost:9093",
            "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
            "KAFKA_LISTENERS": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0,CONTROLLER://localhost:9093",
            "KAFKA_ADVERTISED_LISTENERS": f"OUTSIDE://{mapped.address}",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "KAFKA_INTER_BROKER_LISTENER_NAME": "INSIDE",
            "KAFKA_NUM_PARTITIONS": str(PARTITIONS),
            "KAFKA_LOG_RETENTION_MS": "-1",
        }
        with broker:
            host, _, port = broker.address_of(1).rpartition(":")
            mapped.target = (host, int(port))
            yield TwoWays(broker.address_of(0), mapped.address, mapped)


def messages(count: int) -> list[Message]:
    return [Message(number % PARTITIONS, b"key", b"value-%d" % number) for number in range(count)]


@pytest.mark.parametrize("way", ["inside", "outside"])
@pytest.mark.parametrize("name", ALL)
def test_a_client_works_by_the_address_it_is_told(
    ways: TwoWays, clients: Mapping[str, Client], name: str, way: str
) -> None:
    client, address, before = clients[name], getattr(ways, way), ways.mapped.connections
    client.write(address, f"{name}-{way}", messages(6), "none")
    found = by_position(client.read(address, f"{name}-{way}"))
    assert sorted(record.value or b"" for record in found) == sorted(each.value or b"" for each in messages(6))
    assert (ways.mapped.connections > before) is (way == "outside")


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_finds_its_coordinator_by_the_address_it_is_told(
    ways: TwoWays, clients: Mapping[str, Client], name: str
) -> None:
    client = clients[name]
    client.write(ways.outside, f"group-{name}", messages(6), "none")
    assert len(client.read_in_group(ways.outside, f"group-{name}", f"group-of-{name}", 6)) == 6
