"""The console that most of these tests look at. Some files have one over other topics."""

import pytest

from tests.support.console.world import Console
from tests.support.inspected_broker import Inspected


@pytest.fixture
async def console() -> Console:
    """Over a broker with topic "orders" of two partitions."""
    world = Inspected(topics={"orders": 2})
    return Console(world)
