"""One broker for the tests of this directory that want a real one; each uses topics of its own."""

from collections.abc import Iterator

import pytest

from barnabas.client.client import Client
from tests.support.processes.own_broker import OwnBroker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnBroker]:
    with OwnBroker(tmp_path_factory.mktemp("source") / "data", {"log.retention.ms": -1}) as running:
        yield running


@pytest.fixture
def client(broker: OwnBroker) -> Iterator[Client]:
    with Client(broker.address, timeout_ms=10_000) as connected:
        yield connected
