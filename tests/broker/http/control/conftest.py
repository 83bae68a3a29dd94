"""A broker that is served with --control."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.served import Running


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with Running(tmp_path / "d", "--topic", "t:2") as it:
        yield it
