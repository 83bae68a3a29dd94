"""One broker for the commands that talk to one, and `barnabas` as a function that returns what a shell would see."""

from collections.abc import Iterator

import pytest

from barnabas.broker.cli import main
from barnabas.client.client import Client
from tests.support.command_line import Barnabas, run_here
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


@pytest.fixture
def client(broker: OwnBroker) -> Iterator[Client]:
    with Client(broker.address) as client:
        yield client


@pytest.fixture
def offline(capfdbinary: pytest.CaptureFixture[bytes]) -> Barnabas:
    """The command line, run in this process."""
    return run_here(main, capfdbinary)


@pytest.fixture
def barnabas(broker: OwnBroker, offline: Barnabas) -> Barnabas:
    """The same, with --bootstrap-server."""
    return lambda *arguments: offline(*arguments, "--bootstrap-server", broker.address)
