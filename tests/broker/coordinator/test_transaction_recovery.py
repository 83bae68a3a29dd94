"""A start after a kill: nobody is let in before everything that was prepared is shown, however long that takes.

And a clean stop, which leaves nothing of that to the next start.
"""

import asyncio
import errno
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.broker.coordinator.runtime import loading, outcome
from barnabas.broker.coordinator.transaction import transaction_marker_writer
from barnabas.broker.coordinator.transaction.decisions.model import EndRequest
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState as S
from barnabas.broker.coordinator.transaction.prepared_transactions import finish_transactions
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.records.control import read_marker
from barnabas.storage.errors import StorageError
from tests.support.worlds.broker import ANSWER_TIMEOUT_S, settle, turn
from tests.support.worlds.transactional_broker import Producer, TransactionalBroker

WIDE = 30


async def _killed_while_it_commits(monkeypatch: pytest.MonkeyPatch) -> TransactionalBroker:
    """The next run before its start: a commit over WIDE partitions was decided, and few have their marker."""
    world = TransactionalBroker()
    world.broker.services.catalogue.create_topic("wide", WIDE)
    monkeypatch.setattr(transaction_marker_writer, "WRITING", replace(transaction_marker_writer.WRITING, steps_max=2))
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
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        while not starting.done():
            await settle()
            world.broker.clock.advance(1)
    await starting
    return seen == [1] * WIDE


async def test_markers_in_many_slices_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await _killed_while_it_commits(monkeypatch)
    assert await _whole_when_let_in(world)


async def test_a_log_that_loads_in_many_slices_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await _killed_while_it_commits(monkeypatch)
    monkeypatch.setattr(loading, "SLICE_BYTES", 1)
    assert await _whole_when_let_in(world)


@pytest.mark.parametrize("commit", [True, False])
async def test_a_clean_stop_waits_for_a_decision_that_is_not_on_the_disk_yet(commit: bool) -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    producer = await world.written(0, 1, 2)
    reply = world.coordinator.end_transaction(EndRequest("tx", producer.id, producer.epoch, commit, 2))
    assert isinstance(reply, asyncio.Future)
    assert not reply.done()
    world = await world.restart("stop")
    assert reply.result().error is ErrorCode.NONE
    assert world.txn().state is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    assert [len(world.read(partition)) for partition in range(3)] == [commit] * 3


async def test_a_clean_stop_does_not_wait_for_a_decision_that_the_disk_refuses() -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    producer = await world.written(0)
    world.files.fail("sync", errno.EIO)
    reply = world.coordinator.end_transaction(EndRequest("tx", producer.id, producer.epoch, True, 2))
    assert isinstance(reply, asyncio.Future)
    await finish_transactions(world.coordinator)
    with pytest.raises(KafkaError):
        reply.result()
    with pytest.raises(StorageError):  # and there is no clean-shutdown marker
        await world.close()


async def _commit_offset_in_transaction(world: TransactionalBroker, producer: Producer, offset: int) -> None:
    """Beside an older offset of the group, which is 1."""
    world.broker.commit_offset(1)
    partition = world.broker.services.groups.offsets_partition("g")
    await world.add(producer, (CONSUMER_OFFSETS_TOPIC, partition), version=2)
    assert world.broker.commit_offset(offset, producer=outcome.TransactionProducer(producer.id, producer.epoch)) == (
        ErrorCode.NONE,
    )


@pytest.mark.parametrize("commit", [True, False])
async def test_a_clean_stop_waits_for_offsets_that_load(
    world: TransactionalBroker, monkeypatch: pytest.MonkeyPatch, commit: bool
) -> None:
    producer = await world.written(0)
    await _commit_offset_in_transaction(world, producer, 7)
    world = await world.restart("stop")
    await world.advance(1_100)
    with monkeypatch.context() as patch:
        patch.setattr(loading, "SLICE_BYTES", 1)  # two batches are two slices
        await world.end(producer, commit=commit)
        assert world.txn().state.is_prepared, "the offsets are not there yet"
        world = await world.restart("stop")
    assert (len(world.read()), world.broker.committed()[0]) == ((1, 7) if commit else (0, 1)), (
        "before anything is loaded"
    )
    assert world.txn().state is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)


@pytest.mark.parametrize(("refused", "skip"), [("/t-1/", 0), ("/__transaction_state-0/", 1)])
async def test_prepared_transactions_of_a_stop_are_finished_first_by_the_next_start(
    world: TransactionalBroker, refused: str, skip: int
) -> None:
    producer = await world.written(0, 1, 2)
    world.files.fail("pwrite", path=f"{refused}{0:020d}.log", skip=skip)
    assert (await world.end(producer, commit=True)).error is ErrorCode.NONE
    assert world.txn().state is S.PREPARE_COMMIT
    await world.close()
    world.files.heal()
    world = TransactionalBroker(world.settings, world.files)
    await world.broker.broker.settle_transactions()
    assert [txn.state for each in world.coordinator.loaded() for txn in each.machine.transactions.values()] == [
        S.COMPLETE_COMMIT
    ]
    assert [world.read(partition) for partition in range(3)] == [[b"v"]] * 3


async def test_a_stop_with_a_partition_that_nobody_could_load_does_not_vouch_for_it(world: TransactionalBroker) -> None:
    producer = await world.written(0, 1, 2)
    world.files.fail("pwrite", path="/t-1/")
    await world.end(producer, commit=True)
    world.files.heal()
    (owner,) = [each for each in world.coordinator.loaded() if each.machine.transactions]
    world.files.fail("open", path=f"__transaction_state-{owner.index}/")
    world = await (await world.restart("kill")).restart("stop")
    world.files.heal()
    world = await world.restart("stop")
    assert [world.read(partition) for partition in range(3)] == [[b"v"]] * 3


async def test_a_stop_while_transactions_load_is_clean(
    world: TransactionalBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = await world.written(0)
    assert (await world.end(producer, commit=True)).error is ErrorCode.NONE
    world = await world.restart("stop")
    monkeypatch.setattr(loading, "SLICE_BYTES", 1)
    world.coordinator.load_in_background()
    world.coordinator.prepare("id")
    assert [each for each in world.coordinator.loaded() if each.machine.transactions] == []
    finishing = asyncio.ensure_future(finish_transactions(world.coordinator))
    assert await world.until(finishing)
    assert finishing.result()


async def test_a_stop_lets_nobody_decide_anything_more() -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    first, second = await world.producer("first"), await world.producer("second")
    await first.send(b"v", 0)
    await second.send(b"v", 1)
    reply = world.coordinator.end_transaction(EndRequest("first", first.id, first.epoch, True, 2))
    finishing = asyncio.ensure_future(finish_transactions(world.coordinator))
    await turn()
    assert not finishing.done()
    with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
        world.coordinator.end_transaction(EndRequest("second", second.id, second.epoch, True, 2))
    with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
        await world.init("second")
    assert await world.until(finishing)
    assert isinstance(reply, asyncio.Future)
    assert reply.result().error is ErrorCode.NONE
    world = await world.restart("stop")
    assert (await world.end(second, commit=True)).error is ErrorCode.NONE


async def test_a_finished_job_is_not_restarted(world: TransactionalBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_marker_writer, "WRITING", replace(transaction_marker_writer.WRITING, steps_max=1))
    producer = await world.written(0, 1, 2)
    await world.end(producer, commit=True)
    assert world.txn().state is S.PREPARE_COMMIT
    (owner,) = [each for each in world.coordinator.loaded() if each.machine.transactions]
    world.coordinator._finish(owner, "tx")
    await settle()
    assert world.txn().state is S.COMPLETE_COMMIT
    assert [world.log(number).log_end_offset for number in range(3)] == [2] * 3, "one record, one marker"


async def test_markers_say_in_which_epoch_the_coordinator_wrote_them(world: TransactionalBroker) -> None:
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


async def test_waiting_for_prepared_transactions_does_not_spin_the_loop() -> None:
    """A thread may be at it, and in the simulation no time goes by while the loop turns and turns."""
    loop = asyncio.get_running_loop()
    loading, asked = [loop.create_future()], []

    class Coordinator:
        markers = SimpleNamespace(is_settled=True)

        def deciding(self) -> list[asyncio.Future[None]]:
            asked.append(len(loading))
            return [each for each in loading if not each.done()]

        def stop_deciding(self) -> None:
            """No request decides anything here."""

        has_finished_all = True

    waiting = asyncio.ensure_future(finish_transactions(cast(Any, Coordinator())))
    for _ in range(100):
        await turn()
    assert (len(asked), waiting.done()) == (1, False)
    loading[0].set_result(None)
    assert await waiting
