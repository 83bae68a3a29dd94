"""A broker whose log cleaner, where it has one, never rests."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.processes.server import Server
from tests.support.stack.compacted import BUSY_CLEANER

NewServer = Callable[[Path, Mapping[str, object]], Server]


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path, new_server: NewServer) -> Iterator[Server]:
    """A running broker, to be killed around commits, too. With --against kafka it is 4.2.0: later ones lose commits."""
    settings = BUSY_CLEANER | {"group.min.session.timeout.ms": 1000}
    data = tmp_path / "broker" / "data"
    if request.config.getoption("--against") == "kafka":
        from tests.support.kafka.process import KafkaProcess

        server: Server = KafkaProcess(data, settings, version="4.2.0")
    else:
        server = new_server(data, settings)
    with server:
        yield server
