"""The broker whose connections are tested here."""

import pytest

from tests.support.worlds.broker import BrokerWorld


@pytest.fixture
async def world() -> BrokerWorld:
    world = BrokerWorld()
    world.services.catalogue.create_topic("t")
    return world
