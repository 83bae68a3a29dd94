"""A broker whose transactions are looked at."""

import pytest

from tests.support.worlds.transactional_broker import TransactionalBroker


@pytest.fixture
async def world() -> TransactionalBroker:
    return TransactionalBroker()
