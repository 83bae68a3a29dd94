"""What most of these tests ask: a broker with the topic `t` of three partitions, or one of groups."""

from collections.abc import Iterator

import pytest

from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.group_api import GroupApi


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld(topics={"t": 3})


@pytest.fixture
def api() -> Iterator[GroupApi]:
    api = GroupApi()
    yield api
    api.close()
