"""A broker for one row, to be killed."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.processes.server import Server

NewServer = Callable[[Path, Mapping[str, object]], Server]


@pytest.fixture
def server(tmp_path: Path, new_mortal_server: NewServer) -> Iterator[Server]:
    """A running broker."""
    data, settings = tmp_path / "broker" / "data", {"group.initial.rebalance.delay.ms": 0}
    with new_mortal_server(data, settings) as server:
        yield server
