"""The persister over the coordinators of one process: what waits, what is refused at once, and several nodes."""

import asyncio

import pytest

from barnabas.broker.coordinator.share.local_persister import LocalPersister
from barnabas.broker.coordinator.share.share_coordinator import ShareCoordinator
from barnabas.broker.partitions.share.persister import (
    NOT_STARTED,
    SharePartitionKey,
    ShareStateSummary,
    StateBatch,
    StoredShareState,
)
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.worlds.broker import settle
from tests.support.worlds.share_states import change, share_key, share_world

TIMEOUT_MS = 5_000


async def test_each_operation_reaches_the_coordinator() -> None:
    world = share_world()
    persister, key = world.services.persister, share_key(world)
    await persister.initialize(key, 1, NOT_STARTED)
    await persister.write(key, change((0, 9, 2, 1), complete=10))
    assert await persister.read(key, 0) == StoredShareState(1, 0, (StateBatch(0, 9, 2, 1),))
    assert await persister.summarize(key, 0) == ShareStateSummary(1, 0, 0, 10)
    await persister.delete(key)
    assert (await persister.summarize(key, 0)).start_offset == NOT_STARTED


async def test_a_state_of_a_deleted_topic_counts_as_deleted() -> None:
    world = share_world()
    key = share_key(world)
    world.services.catalogue.delete_topics(["t"])
    await world.services.persister.delete(key)


async def test_a_final_error_fails_the_future() -> None:
    world = share_world()
    with pytest.raises(KafkaError) as refusal:
        await world.services.persister.read(share_key(world), 0)
    assert refusal.value.code is ErrorCode.INVALID_REQUEST
    with pytest.raises(KafkaError) as refusal:
        await world.services.persister.delete(share_key(world, partition=-1))
    assert refusal.value.code is ErrorCode.INVALID_REQUEST


class Refusing:
    """A persister whose coordinator is found after so many attempts."""

    def __init__(self, times: int) -> None:
        self.world = share_world()
        self.attempts = 0
        self._times = times
        loop = asyncio.get_running_loop()
        self.persister = LocalPersister(self._coordinator_of, self.world.clock, loop, TIMEOUT_MS)

    def _coordinator_of(self, _: SharePartitionKey) -> ShareCoordinator:
        self.attempts += 1
        if self.attempts <= self._times:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return self.world.services.shares

    def begin(self) -> asyncio.Future[None]:
        return self.persister.initialize(share_key(self.world), 1, 0)


async def test_an_operation_waits_for_a_coordinator_that_loads() -> None:
    refusing = Refusing(2)
    begun = refusing.begin()
    await settle()
    assert not begun.done()
    refusing.world.clock.advance(20)
    assert (refusing.attempts, begun.done()) == (2, False)
    refusing.world.clock.advance(40)
    await begun
    assert await refusing.persister.summarize(share_key(refusing.world), 0) == ShareStateSummary(1, 0, 0, 0)


async def test_an_operation_fails_with_the_coordinators_error_after_the_timeout() -> None:
    refusing = Refusing(1_000_000)
    begun = refusing.begin()
    await settle()
    refusing.world.clock.advance(TIMEOUT_MS - 1)
    assert not begun.done()
    refusing.world.clock.advance(1)
    with pytest.raises(KafkaError) as refusal:
        await begun
    assert refusal.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert refusing.attempts < 20


async def test_a_cancelled_operation_is_not_tried_again() -> None:
    refusing = Refusing(1_000_000)
    begun = refusing.begin()
    await settle()
    begun.cancel()
    refusing.world.clock.advance(TIMEOUT_MS)
    assert refusing.attempts == 1


async def test_an_operation_on_a_closed_coordinator_fails_at_once() -> None:
    world = share_world()
    world.services.shares.close()
    with pytest.raises(KafkaError) as refusal:
        await world.services.persister.summarize(share_key(world), 0)
    assert refusal.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_any_of_several_nodes_stores_states_and_a_move_takes_them_along() -> None:
    world = share_world(
        {
            "share.coordinator.state.topic.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": "3",
        },
        nodes=3,
    )
    first, second, third = (member.services for member in world.broker.members)
    keys = [share_key(world, f"g{number}") for number in range(8)]
    for key in keys:
        await first.persister.initialize(key, 1, 0)
        await second.persister.write(key, change((0, 4, 2, 1)))
    assert sum(node.deferred_shares.built is not None for node in (first, second, third)) > 1
    expected = StoredShareState(1, 0, (StateBatch(0, 4, 2, 1),))
    assert [await third.persister.read(key, 0) for key in keys] == [expected] * 8
    assert world.broker.shared_storage is not None
    world.broker.shared_storage.nodes.have_stopped(lambda _: {third.node.node_id})
    await settle()
    assert [await first.persister.read(key, 0) for key in keys] == [expected] * 8
