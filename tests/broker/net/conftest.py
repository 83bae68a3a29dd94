"""The broker whose connections are tested here."""

from collections.abc import AsyncIterator

import pytest

from tests.support.worlds.broker import BrokerWorld


@pytest.fixture
async def world() -> AsyncIterator[BrokerWorld]:
    world = BrokerWorld()
    world.services.catalogue.create_topic("t")
    yield world
    await world.close()
