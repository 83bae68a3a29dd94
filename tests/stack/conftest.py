"""A broker whose log cleaner, where it has one, never rests."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.processes.server import Server
from tests.support.stack.compacted import BUSY_CLEANER

NewServer = Callable[[Path, Mapping[str, object]], Server]


@pytest.fixture
def server(tmp_path: Path, new_mortal_server: NewServer) -> Iterator[Server]:
    """A running broker, to be killed around commits, too."""
    settings = BUSY_CLEANER | {"group.min.session.timeout.ms": 1000}
    data = tmp_path / "broker" / "data"
    with new_mortal_server(data, settings) as server:
        yield server
