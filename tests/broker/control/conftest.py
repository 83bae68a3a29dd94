"""A broker that is served with --control, and the command line beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.broker.cli import main
from tests.broker.control.test_served import Running
from tests.support.command_line import Barnabas, run_here
from tests.support.own_logging import kept_logging


@pytest.fixture
def offline(capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[Barnabas]:
    """The command line, run in this process."""
    with kept_logging():
        yield run_here(main, capfdbinary)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with Running(tmp_path / "d", "--topic", "t:2") as it:
        yield it
