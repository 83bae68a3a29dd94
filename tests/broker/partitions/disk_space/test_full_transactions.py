"""Transactions while the disk is full: decided or not, shown whole or not at all, and finished when there is room."""

import errno
from collections.abc import AsyncIterator

import pytest

from barnabas.broker.partitions.disk_space.free_space import RESERVE_SHARE, WAIT_MAX_MS
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.worlds.transactional_broker import Producer, TransactionalBroker

CAPACITY = 1 << 20
NONE, REFUSED = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR


@pytest.fixture
async def world() -> AsyncIterator[TransactionalBroker]:
    world = TransactionalBroker()
    await world.broker.broker.start()
    yield world
    await world.until(world.close())


async def begun(world: TransactionalBroker) -> Producer:
    """A transaction with a record in two partitions."""
    producer = await world.producer()
    for partition in (0, 1):
        assert (await producer.send(b"in", partition)).error_code == NONE
    return producer


@pytest.mark.parametrize("commit", [True, False])
async def test_a_transaction_one_of_whose_markers_finds_no_room_is_shown_whole_when_there_is(
    world: TransactionalBroker, commit: bool
) -> None:
    producer = await begun(world)
    world.files.fail("pwrite", errno.ENOSPC, path="/t-1/")
    assert (await producer.end(commit=commit)).error is NONE
    await world.advance(5_000)
    assert (world.read(0), world.read(1)) == ([], [])
    assert world.log(0).last_stable_offset == 0

    world.files.heal()
    await world.advance(WAIT_MAX_MS)
    await world.advance(2_000)
    assert (world.read(0), world.read(1)) == (([b"in"], [b"in"]) if commit else ([], []))
    assert world.log(1).last_stable_offset == world.log(1).log_end_offset == 2
    for partition in (0, 1):
        assert (await producer.send(b"next", partition)).error_code == NONE
    assert (await producer.end(commit=True)).error is NONE


async def test_a_decision_that_finds_no_room_is_not_made_and_the_next_try_makes_it(world: TransactionalBroker) -> None:
    producer = await begun(world)
    world.files.fail("pwrite", errno.ENOSPC, path="__transaction_state")
    with pytest.raises(KafkaError) as refusal:
        await producer.end(commit=True)
    assert refusal.value.code is ErrorCode.NOT_COORDINATOR  # as Kafka says it: clients come again
    await world.advance(5_000)
    assert (world.read(0), world.read(1)) == ([], [])
    world.files.heal()
    await world.advance(1_000)
    assert (await producer.end(commit=True)).error is NONE
    await world.advance(1_000)
    assert (world.read(0), world.read(1)) == ([b"in"], [b"in"])


async def test_a_producer_is_refused_before_its_partition_is_in_the_transaction(world: TransactionalBroker) -> None:
    producer = await world.producer()
    assert (await producer.send(b"in", 0)).error_code == NONE
    world.files.capacity = CAPACITY
    other = world.files.open("/other", create=True)
    other.pwrite(bytes(CAPACITY - world.files.used() - CAPACITY // RESERVE_SHARE + 1), 0)
    await world.advance(1_000)
    assert (await producer.send(b"more", 0)).error_code == REFUSED
    assert (await producer.send(b"more", 1)).error_code == REFUSED
    assert world.txn().partitions == {("t", 0)}
    assert (await producer.end(commit=True)).error is NONE  # from the reserve
    await world.advance(1_000)
    assert world.read(0) == [b"in"]
    world.files.capacity = None
    await world.advance(1_000)
    assert (await producer.send(b"more", 1)).error_code == NONE


async def test_a_stop_does_not_wait_for_room_and_the_next_start_finishes_what_was_decided(
    world: TransactionalBroker,
) -> None:
    producer = await begun(world)
    world.files.fail("pwrite", errno.ENOSPC, path="/t-1/00000000000000000000.log")
    assert (await producer.end(commit=True)).error is NONE
    await world.advance(2_000)
    after = await restarted(world)
    assert (after.read(0), after.read(1)) == ([b"in"], [b"in"])
    await after.until(after.close())


async def restarted(world: TransactionalBroker) -> TransactionalBroker:
    stopping = world.until(world.broker.broker.stop())
    await stopping
    world.broker.is_closed = True
    world.files.heal()
    after = TransactionalBroker(world.settings, world.files)
    await after.until(after.broker.broker.settle_transactions())
    return after
