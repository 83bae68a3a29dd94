"""Transactions as the read model has them: those there are, those that are open, and how many ended."""

from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.insight.inspection.transactions import (
    ended,
    every_transaction,
    is_open,
    loaded_transactions,
    started_ms,
)
from tests.support.inspected_broker import TIMEOUT_MS, Inspected


async def test_without_the_topic_there_are_none_and_no_coordinator_is_built() -> None:
    world = Inspected()
    assert every_transaction(world.services) == []
    assert list(loaded_transactions(world.services)) == []
    assert ended(world.services) == (0, 0, 0)
    assert world.services.deferred_transactions.built is None


async def test_every_transaction_is_there_with_its_start_until_it_ends_and_after() -> None:
    world = Inspected(topics={"t": 1})
    begun_ms = world.clock.now_ms()
    over = await world.begin("over", ("t", 0))
    await world.end("over", over, is_commit=True)
    await world.begin("open", ("t", 0))
    for listed in (every_transaction(world.services), list(loaded_transactions(world.services))):
        seen = {txn.transactional_id: (txn.state, is_open(txn), started_ms(txn)) for txn in listed}
        assert seen["over"][:2] == (TransactionState.COMPLETE_COMMIT, False)
        assert seen["open"] == (TransactionState.ONGOING, True, begun_ms)
    assert ended(world.services) == (1, 0, 0)


async def test_an_id_that_never_had_a_transaction_has_no_start() -> None:
    world = Inspected()
    await world.init("idle")
    (txn,) = every_transaction(world.services)
    assert (is_open(txn), started_ms(txn)) == (False, None)


async def test_those_that_time_out_are_counted_with_the_aborted() -> None:
    world = Inspected(topics={"t": 1})
    await world.begin("slow", ("t", 0))
    await world.advance(2 * TIMEOUT_MS)
    assert ended(world.services) == (0, 1, 1)
