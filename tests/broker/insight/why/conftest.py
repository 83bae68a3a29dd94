"""A broker with a topic `t` of two partitions that is asked."""

import pytest

from tests.support.inspected_broker import Inspected
from tests.support.why import Asked
from tests.support.worlds.broker import BrokerWorld


@pytest.fixture
async def world() -> Inspected:
    return Inspected(topics={"t": 2})


@pytest.fixture
async def asked(world: BrokerWorld) -> Asked:
    return Asked(world.services)
