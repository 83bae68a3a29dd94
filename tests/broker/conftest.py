"""What all tests of the broker share: the worlds that a test leaves open are closed; the command line."""

import inspect
from collections.abc import AsyncIterator, Iterator

import pytest

from barnabas.broker.cli import main
from tests.support.command_line import Barnabas, run_here
from tests.support.own_logging import kept_logging
from tests.support.worlds.broker import BrokerWorld


def pytest_itemcollected(item: pytest.Item) -> None:
    """Have `_closed_worlds` in every test that has a loop, which a world needs."""
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(inspect.unwrap(item.function)):
        names = item.fixturenames
        if "_closed_worlds" not in names:
            names.insert(0, "_closed_worlds")


@pytest.fixture
async def _closed_worlds() -> AsyncIterator[None]:
    BrokerWorld.opened = []
    yield
    await BrokerWorld.close_all()


@pytest.fixture
def offline(capsysbinary: pytest.CaptureFixture[bytes]) -> Iterator[Barnabas]:
    """The command line, run in this process."""
    with kept_logging():
        yield run_here(main, capsysbinary)
