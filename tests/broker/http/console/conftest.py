"""The console that most of these tests look at. Some files have one over other topics."""

import pytest

from tests.support.console.world import Console
from tests.support.inspected_broker import Inspected
from tests.support.worlds.broker import BrokerWorld


@pytest.fixture
async def world() -> Inspected:
    return Inspected(topics={"orders": 2})


@pytest.fixture
async def console(world: BrokerWorld) -> Console:
    return Console(world)
