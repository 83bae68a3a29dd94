"""Adding partitions while the transaction before is being finished: who waits, for how long, and what for."""

from asyncio import Future
from collections.abc import AsyncIterator

import pytest

from barnabas.broker.coordinator.transaction import partition_additions
from barnabas.broker.coordinator.transaction.decisions.model import AddRequest
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.coordinator.transaction.transaction_marker_writer import BROKEN_RETRY_MS
from barnabas.protocol.errors import ErrorCode as E
from tests.support.worlds.broker import settle
from tests.support.worlds.transactional_broker import Producer, TransactionalBroker

WAIT_MS = 100  # add.partitions.to.txn.retry.backoff.max.ms


@pytest.fixture
async def world() -> AsyncIterator[TransactionalBroker]:
    made = TransactionalBroker()
    yield made
    made.files.heal()
    await made.close()


async def unfinished(world: TransactionalBroker) -> Producer:
    """A producer whose commit is decided and cannot be finished: it is tried again after BROKEN_RETRY_MS."""
    producer = await world.producer()
    assert await world.add(producer, ("t", 0)) is E.NONE
    world.files.fail("pwrite", path="t-0/")
    assert (await world.end(producer, commit=True, version=0)).error is E.NONE
    assert world.txn().state is TransactionState.PREPARE_COMMIT
    return producer


def add(world: TransactionalBroker, producer: Producer) -> E | Future[E]:
    request = AddRequest(producer.transactional_id, producer.id, producer.epoch, frozenset({("t", 1)}), 0)
    return partition_additions.add(world.coordinator, request)


def waits(answer: E | Future[E]) -> Future[E]:
    assert isinstance(answer, Future)
    return answer


async def test_an_addition_waits_until_the_transaction_before_it_is_complete(world: TransactionalBroker) -> None:
    producer = await unfinished(world)
    world.files.heal()
    await world.advance(BROKEN_RETRY_MS - 50)
    answer = waits(add(world, producer))
    await world.advance(49)
    assert not answer.done()
    await world.advance(1)
    assert answer.result() is E.NONE
    assert world.txn().partitions == {("t", 1)}


async def test_it_is_refused_when_that_takes_too_long_and_no_earlier(world: TransactionalBroker) -> None:
    answer = waits(add(world, await unfinished(world)))
    await settle()
    for _ in range(WAIT_MS - 1):
        await world.advance(1)
    assert not answer.done()
    await world.advance(1)
    assert answer.result() is E.CONCURRENT_TRANSACTIONS
    assert len(world.coordinator.completions) == 0


async def test_without_time_to_wait_it_is_refused_at_once() -> None:
    world = TransactionalBroker({"add.partitions.to.txn.retry.backoff.max.ms": "0"})
    answer = waits(add(world, await unfinished(world)))
    await settle()
    assert answer.result() is E.CONCURRENT_TRANSACTIONS
    world.files.heal()


async def test_a_request_without_a_wait_is_answered_at_once(world: TransactionalBroker) -> None:
    producer = await world.producer()
    assert add(world, producer) is E.NONE
    assert add(world, Producer(world, "unknown", 1, 0)) is E.INVALID_PRODUCER_ID_MAPPING
