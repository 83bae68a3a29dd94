"""A transaction that wrote to a partition whose replicas are all on stopped nodes: nobody else waits for its marker."""

import asyncio
from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tests.broker.metadata.cluster.test_moving import OFFSETS, leader_to, reassign, switch
from tests.broker.metadata.cluster.test_three_nodes import ask, coordinator_of, create, fetched, fetched_offset, kept_at
from tests.support.requests import BY_NAME, end_txn, init_producer, produce, txn_commit
from tests.support.worlds.broker import BrokerWorld

NAME = kept_at(1)
GROUP = kept_at(2)
AWAY = 3
RETRY_MS = 1_000


@pytest.fixture
async def world() -> BrokerWorld:
    world = BrokerWorld(nodes=3)
    await create(world, "t", assignments=[[1], [AWAY]])
    return world


async def begun(world: BrokerWorld) -> tuple[int, int]:
    """The producer id and epoch of a transaction that wrote to both partitions, at a coordinator that stays."""
    coordinator = (await coordinator_of(world, NAME, 1)).node_id
    init = await ask(world, coordinator, init_producer(NAME))
    producer = init.producer_id, init.producer_epoch
    for partition, leader in enumerate((1, AWAY)):
        batch = world.batch(b"v", producer=(*producer, 0), transactional=True)
        answer = await ask(world, leader, produce({partition: batch}, transactional_id=NAME), BY_NAME)
        assert answer.responses[0].partition_responses[0].error_code == E.NONE
    return producer


async def commit(world: BrokerWorld, producer: tuple[int, int]) -> None:
    coordinator = (await coordinator_of(world, NAME, 1)).node_id
    assert (await ask(world, coordinator, end_txn(NAME, producer))).error_code == E.NONE


async def is_shown(world: BrokerWorld, node: int, partition: int) -> bool:
    """Whether no transaction is open there: the record and its marker, perhaps written once more, can be read."""
    read = await fetched(world, node, partition)
    assert read.error_code == E.NONE
    return bool(read.last_stable_offset == read.high_watermark > 1)


async def is_back(world: BrokerWorld) -> None:
    """The node that was stopped runs again, and what is prepared is tried again."""
    await switch(world, AWAY, "false")
    await world.advance(RETRY_MS)


async def test_partitions_of_other_nodes_are_committed_first_and_the_rest_after_a_restart(world: BrokerWorld) -> None:
    producer = await begun(world)
    await switch(world, AWAY, "true")
    await commit(world, producer)
    assert await is_shown(world, 1, 0)
    await is_back(world)
    assert await is_shown(world, AWAY, 1)


async def test_offsets_of_a_group_that_nobody_coordinates_hold_up_no_partition(world: BrokerWorld) -> None:
    await coordinator_of(world, GROUP, 0)
    number = world.services.groups.offsets_partition(GROUP)
    await leader_to(world, OFFSETS, number, AWAY)
    assert await reassign(world, {(OFFSETS, number): [AWAY]}) == [E.NONE]
    producer = await begun(world)
    ids: dict[str, Any] = {
        "transactional_id": NAME,
        "producer_id": producer[0],
        "producer_epoch": producer[1],
        "group_id": GROUP,
    }
    coordinator = (await coordinator_of(world, NAME, 1)).node_id
    assert (await ask(world, coordinator, AddOffsetsToTxnRequest(**ids), 3)).error_code == E.NONE
    noted = await ask(world, AWAY, txn_commit(NAME, producer, GROUP, 7), 3)
    assert noted.topics[0].partitions[0].error_code == E.NONE
    await switch(world, AWAY, "true")
    await commit(world, producer)
    assert await is_shown(world, 1, 0)
    await is_back(world)
    assert await fetched_offset(world, AWAY, GROUP) == (E.NONE, 7)


async def test_a_stop_does_not_wait_for_it_and_the_next_start_goes_on(world: BrokerWorld) -> None:
    producer = await begun(world)
    await switch(world, AWAY, "true")
    await commit(world, producer)
    async with asyncio.timeout(5):
        await world.close()
    again = BrokerWorld(files=world.files, nodes=3)
    async with asyncio.timeout(5):
        await again.broker.start()
    assert await is_shown(again, 1, 0)
    await is_back(again)
    assert await is_shown(again, AWAY, 1)


async def test_a_start_after_a_kill_does_not_wait_for_it(world: BrokerWorld) -> None:
    producer = await begun(world)
    await switch(world, AWAY, "true")
    await commit(world, producer)
    world.abandon()
    again = BrokerWorld(files=world.files, nodes=3)
    async with asyncio.timeout(5):
        await again.broker.start()
