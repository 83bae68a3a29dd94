"""What most of these tests look at: a broker with transactions, or groups on paper."""

from collections.abc import Iterator

import pytest

from tests.support.worlds.group import GroupWorld
from tests.support.worlds.transactional_broker import TransactionalBroker


@pytest.fixture
async def world() -> TransactionalBroker:
    return TransactionalBroker()


@pytest.fixture
def groups() -> Iterator[GroupWorld]:
    with GroupWorld() as world:
        yield world
