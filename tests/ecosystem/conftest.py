"""A broker for one row, to be killed."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.processes.server import Server

NewServer = Callable[[Path, Mapping[str, object]], Server]


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path, new_server: NewServer) -> Iterator[Server]:
    """A running broker. With --against kafka it is 4.2.0: later ones lose commits when they are killed."""
    data, settings = tmp_path / "broker" / "data", {"group.initial.rebalance.delay.ms": 0}
    if request.config.getoption("--against") == "kafka":
        from tests.support.kafka.process import KafkaProcess

        server: Server = KafkaProcess(data, settings, version="4.2.0")
    else:
        server = new_server(data, settings)
    with server:
        yield server
