"""A start after a kill: nobody is let in before everything that was prepared is shown, however long that takes."""

from __future__ import annotations

import asyncio

import pytest

from broker.coordinator import loading, markers
from broker.coordinator.transaction.states import TransactionState as S
from protocol.errors import ErrorCode
from tests.support.broker_world import settle
from tests.support.transactional_broker import TransactionalBroker

WIDE = 30


async def _killed_while_it_commits(monkeypatch: pytest.MonkeyPatch) -> TransactionalBroker:
    """The next run before its start: a commit over WIDE partitions was decided, and few have their marker."""
    world = TransactionalBroker()
    world.broker.services.catalogue.create_topic("wide", WIDE)
    monkeypatch.setattr(markers, "SLICE_PARTITIONS", 2)
    producer = await world.producer()
    for partition in range(WIDE):
        assert (await producer.send(b"v", partition, topic="wide")).error_code == ErrorCode.NONE
    await world.end(producer, commit=True)
    assert world.txn().state is S.PREPARE_COMMIT
    world.files.crash("everything")
    world.broker.is_closed = True
    return TransactionalBroker(world.settings, world.files)


async def _whole_when_let_in(world: TransactionalBroker) -> bool:
    """Whether all of the transaction can be read in the very turn in which the start goes on."""
    seen: list[int] = []

    async def start() -> None:
        await world.broker.broker.settle_transactions()
        seen.extend(len(world.read(partition, topic="wide")) for partition in range(WIDE))

    starting = asyncio.ensure_future(start())
    while not starting.done():
        await settle()
        world.broker.clock.advance(1)
    await starting
    return seen == [1] * WIDE


async def test_markers_in_many_slices_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await _killed_while_it_commits(monkeypatch)
    assert await _whole_when_let_in(world)
    await world.close()


async def test_a_log_that_loads_in_many_slices_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await _killed_while_it_commits(monkeypatch)
    monkeypatch.setattr(loading, "SLICE_BYTES", 1)
    assert await _whole_when_let_in(world)
    await world.close()
