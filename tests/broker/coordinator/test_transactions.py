"""The transaction coordinator over real partitions: what readers see, what a crash leaves, what the clock does."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from broker.coordinator.transaction.states import TransactionState as S
from protocol.errors import ErrorCode
from tests.support.transactional_broker import TransactionalBroker, code_of

E = ErrorCode


@pytest.fixture
async def world() -> AsyncIterator[TransactionalBroker]:
    world = TransactionalBroker()
    yield world
    await world.close()


@pytest.mark.parametrize("version", [11, 12, 13])
async def test_a_committed_transaction_is_read_and_an_aborted_one_is_not(
    world: TransactionalBroker, version: int
) -> None:
    producer = await world.producer()
    for value, commit in ((b"no", False), (b"yes", True)):
        if version < 12:
            assert await world.add(producer, ("t", 0), ("t", 1)) is E.NONE
        for partition in (0, 1):
            assert (await producer.send(value, partition, version=version)).error_code == E.NONE
        assert world.read(0) == world.read(1) == []
        assert (await producer.end(commit=commit, version=2 if version >= 12 else 0)).error is E.NONE
        assert world.txn().state is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    assert world.read(0) == world.read(1) == [b"yes"]
    assert world.read(0, committed=False) == [b"no", b"yes"]


async def test_a_small_transaction_is_complete_when_its_end_is_answered(world: TransactionalBroker) -> None:
    producer = await world.producer()
    await producer.send(b"a")
    assert world.txn().state is S.ONGOING
    reply = await producer.end(commit=True)
    assert (reply.producer_id, reply.producer_epoch) == (producer.id, 1)
    assert world.txn().state is S.COMPLETE_COMMIT
    assert (await producer.send(b"b")).error_code == E.NONE, "nobody meets CONCURRENT_TRANSACTIONS"


async def test_a_second_producer_of_the_same_id_fences_the_first(world: TransactionalBroker) -> None:
    first = await world.producer()
    await first.send(b"lost")
    assert (await world.init()).error is E.CONCURRENT_TRANSACTIONS
    second = await world.producer()
    assert second.epoch > first.epoch
    assert (await first.send(b"zombie")).error_code == E.INVALID_PRODUCER_EPOCH
    assert (await first.end(commit=True)).error is E.PRODUCER_FENCED
    await second.send(b"kept")
    await second.end(commit=True)
    assert world.read() == [b"kept"]


async def test_ids_that_cannot_be_are_refused(world: TransactionalBroker) -> None:
    producer = await world.producer()
    for transactional_id in ("", "x" * 40_000):
        for call in (
            lambda: world.coordinator.describe(transactional_id),  # noqa: B023 - called at once
            lambda: world.coordinator.verify_partitions(transactional_id, producer.id, 0, [("t", 0)]),  # noqa: B023
        ):
            assert code_of(call) is E.INVALID_REQUEST
