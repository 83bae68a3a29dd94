"""A broker with a topic `t` of two partitions that is asked."""

import pytest

from tests.support.inspected_broker import Inspected


@pytest.fixture
async def world() -> Inspected:
    return Inspected(topics={"t": 2})
