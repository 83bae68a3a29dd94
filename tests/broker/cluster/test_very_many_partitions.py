"""Three nodes that have very many partitions: no turn of the loop takes long, whatever becomes of some or all of them.

Measured is the processor time of this thread; a slow moment of the machine is none of the broker's.
"""

import gc
from collections.abc import Iterator
from time import thread_time

import pytest

from barnabas.broker.catalogue import NewTopic
from tests.support.worlds.broker import BrokerWorld

TURN_MS, TRIES = 20, 3
MANY = 10_000


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """How long that takes is told elsewhere: test_garbage_collection.py."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("topics", [1, MANY])
async def test_one_more_topic_is_placed_at_once(topics: int) -> None:
    world = BrokerWorld(nodes=3)
    catalogue = world.services.catalogue
    catalogue.create_topics([NewTopic(f"t-{number}", MANY // topics, 3) for number in range(topics)])
    took_ms = []
    for name in ("a", "b", "c"):
        begun = thread_time()
        catalogue.create_topics([NewTopic(name, 1, 3)])
        took_ms.append((thread_time() - begun) * 1000)
    world.abandon()
    assert min(took_ms) < TURN_MS
