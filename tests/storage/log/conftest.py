"""An open partition with a topic's default settings."""

import pytest

from tests.support.worlds.log import LogWorld, open_world


@pytest.fixture
def world() -> LogWorld:
    return open_world()
