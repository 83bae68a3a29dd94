"""A broker in memory whose requests meet faults."""

from collections.abc import AsyncIterator

import pytest

from tests.support.worlds.faulty_broker import FaultyWorld


@pytest.fixture
async def faulty() -> AsyncIterator[FaultyWorld]:
    """Closed at the end."""
    world = FaultyWorld()
    yield world
    await world.close()
