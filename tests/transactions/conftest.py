"""The transactional clients by name, and a broker for the tests of a module."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.compat.conftest import client as client
from tests.compat.conftest import clients as clients
from tests.compat.conftest import tools as tools
from tests.support.processes.server import Server
from tests.transactions.clients.programs import PROGRAMS
from tests.transactions.model import Program

NewServer = Callable[[Path, Mapping[str, object]], Server]
SETTINGS = {
    "num.partitions": 3,
    "log.retention.ms": -1,
    "group.min.session.timeout.ms": 1000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
}


def pytest_configure(config: pytest.Config) -> None:
    """kafka-python and aiokafka leave the sockets of lost connections to the garbage collector, which warns of them."""
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="session")
def programs() -> Iterator[dict[str, Program]]:
    """Every transactional client by name."""
    programs = {name: Program(name, command) for name, command in PROGRAMS.items()}
    yield programs
    for program in programs.values():
        program.kill()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, new_server: NewServer) -> Iterator[Server]:
    """A running broker that makes topics of three partitions by itself."""
    with new_server(tmp_path_factory.mktemp("server") / "data", SETTINGS) as server:
        yield server


@pytest.fixture(scope="module")
def mortal_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, new_mortal_server: NewServer
) -> Iterator[Server]:
    """The same, to be killed around a commit.

    Where the module has FURTHER_SETTINGS, these are added to its settings.
    """
    data = tmp_path_factory.mktemp("mortal") / "data"
    settings = SETTINGS | getattr(request.module, "FURTHER_SETTINGS", {})
    with new_mortal_server(data, settings) as server:
        yield server
