"""One broker for the commands that talk to one, and `barnabas` as a function that returns what a shell would see."""

from collections.abc import Iterator

import pytest

from barnabas import Barnabas as Broker
from barnabas.client.client import Client
from tests.support.command_line import Barnabas
from tests.support.own_logging import kept_logging
from tests.support.processes.own_broker import OwnBroker


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    with kept_logging():
        yield


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnBroker]:
    with OwnBroker(tmp_path_factory.mktemp("cli") / "data") as running:
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="module")
def queue_broker() -> Iterator[Broker]:
    with Broker(in_process=True) as running:
        yield running


@pytest.fixture
def cli(queue_broker: Broker, offline: Barnabas) -> Barnabas:
    """`offline`, with the address of the broker in this process."""
    return lambda *arguments: offline(*arguments, "--bootstrap-server", queue_broker.bootstrap_servers)


@pytest.fixture
def client(broker: OwnBroker) -> Iterator[Client]:
    with Client(broker.address) as client:
        yield client


@pytest.fixture
def barnabas(broker: OwnBroker, offline: Barnabas) -> Barnabas:
    """`offline`, with --bootstrap-server."""
    return lambda *arguments: offline(*arguments, "--bootstrap-server", broker.address)
