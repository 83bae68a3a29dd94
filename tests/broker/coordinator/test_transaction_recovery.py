"""A start after a kill: nobody is let in before everything that was prepared is shown, however long that takes.

And a clean stop, which leaves nothing of that to the next start.
"""

from __future__ import annotations

import asyncio
import errno

import pytest

from broker.coordinator import loading, markers
from broker.coordinator.transaction.model import EndRequest
from broker.coordinator.transaction.states import TransactionState as S
from protocol.errors import ErrorCode, KafkaError
from protocol.records.control import read_marker
from storage.errors import StorageError
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


@pytest.mark.parametrize("commit", [True, False])
async def test_a_clean_stop_waits_for_a_decision_that_is_not_on_the_disk_yet(commit: bool) -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    producer = await world.producer()
    for partition in range(3):
        await producer.send(b"v", partition)
    reply = world.coordinator.end_transaction(EndRequest("tx", producer.id, producer.epoch, commit, 2))
    assert isinstance(reply, asyncio.Future)
    assert not reply.done()
    world = await world.restart("stop")
    assert reply.result().error is ErrorCode.NONE
    assert world.txn().state is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    assert [len(world.read(partition)) for partition in range(3)] == [commit] * 3
    await world.close()


async def test_a_clean_stop_does_not_wait_for_a_decision_that_the_disk_refuses() -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    producer = await world.producer()
    await producer.send(b"v")
    world.files.fail("sync", errno.EIO)
    reply = world.coordinator.end_transaction(EndRequest("tx", producer.id, producer.epoch, True, 2))
    assert isinstance(reply, asyncio.Future)
    await world.coordinator.finish_all()
    with pytest.raises(KafkaError):
        reply.result()
    with pytest.raises(StorageError):  # and there is no clean-shutdown marker
        await world.close()


async def test_what_is_being_finished_is_not_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = TransactionalBroker()
    monkeypatch.setattr(markers, "SLICE_PARTITIONS", 1)
    producer = await world.producer()
    for partition in range(3):
        await producer.send(b"v", partition)
    await world.end(producer, commit=True)
    assert world.txn().state is S.PREPARE_COMMIT
    (owner,) = [each for each in world.coordinator.loaded() if each.machine.transactions]
    world.coordinator._finish(owner, "tx")
    await settle()
    assert world.txn().state is S.COMPLETE_COMMIT
    assert [world.log(number).log_end_offset for number in range(3)] == [2] * 3, "one record, one marker"
    await world.close()


async def test_markers_say_in_which_epoch_the_coordinator_wrote_them() -> None:
    world = TransactionalBroker()
    await (await world.producer()).send(b"v")
    world = await world.restart()
    await world.producer()  # fences the first, whose transaction is aborted
    (owner,) = [each for each in world.coordinator.loaded() if each.machine.transactions]
    led_in = world.log(owner.index, "__transaction_state").leader_epoch
    found = world.log().read(1, 1 << 20, committed=True, force_first_batch=True)
    marker = read_marker(memoryview(found.read_all()))
    assert marker is not None
    assert (marker.commit, marker.coordinator_epoch) == (False, led_in)
    assert led_in > 0, "this is the second run"
    await world.close()
