"""The log of transactions is kept short, and says the same: whatever happens meanwhile, and whenever it is cut off."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping
from dataclasses import replace

import pytest

from barnabas.broker.coordinator import compaction
from barnabas.broker.coordinator.transaction.model import Transaction
from barnabas.broker.coordinator.transaction.states import TransactionState as S
from barnabas.protocol.files.names import TRANSACTION_STATE_TOPIC
from tests.support.files.memory_files import PowerCut
from tests.support.this_thread import InThisThread
from tests.support.worlds.broker import ANSWER_TIMEOUT_S, settle, turn
from tests.support.worlds.transactional_broker import TransactionalBroker

_ONE_PARTITION = {"transaction.state.log.num.partitions": "1", "log.segment.delete.delay.ms": "1000"}
_DAY_MS = 86_400_000
_LONG_MS = 600_000
_UPKEEP_MS = 65_000
"""Until the checkpoints are written, retention was there, and the files it found are removed."""


@pytest.fixture(autouse=True)
def _few_records_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "RECORDS_MIN", 20)
    monkeypatch.setattr(compaction, "RECORDS_PER_ID", 3)
    monkeypatch.setattr(compaction, "COMPACTION", replace(compaction.COMPACTION, steps_max=2))


def _states(world: TransactionalBroker) -> Mapping[str, Transaction]:
    """What a restart would know: the last epoch is in memory only."""
    return {
        txn.transactional_id: txn._replace(last_producer_epoch=-1)
        for partition in world.coordinator.loaded()
        for txn in partition.machine.transactions.values()
    }


def _extent(world: TransactionalBroker) -> tuple[int, int]:
    log = world.log(0, TRANSACTION_STATE_TOPIC)
    return log.log_start_offset, log.log_end_offset


async def _until_compacted(world: TransactionalBroker) -> None:
    """A thread syncs the log before it is cut short, and takes its time."""
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        while not _extent(world)[0]:
            await settle()


async def _compacted_and_upkept(world: TransactionalBroker) -> None:
    """The log is compacted, and everything done that the broker does to its files by the clock."""
    world.broker.broker._housekeeping.start()
    await _until_compacted(world)
    for _ in range(_UPKEEP_MS // 5_000):
        await world.advance(5_000)


async def _five_ids(world: TransactionalBroker) -> None:
    """Five ids in 16 records, two of them open."""
    for number in range(4):
        producer = await world.producer(f"tx{number}", timeout_ms=_LONG_MS)
        await producer.send(b"v")
        if number < 3:
            await producer.end(commit=number % 2 == 0)
    await (await world.producer("tx4", timeout_ms=_LONG_MS)).send(b"open", 1)


def _in_small_segments(world: TransactionalBroker) -> None:
    world.broker.services.catalogue.create_internal_topic(TRANSACTION_STATE_TOPIC)
    log = world.log(0, TRANSACTION_STATE_TOPIC)
    log.config = log.config._replace(segment_bytes=1_024)


def _begin(world: TransactionalBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """16 records are many from now on."""
    monkeypatch.setattr(compaction, "RECORDS_MIN", 12)
    for partition in world.coordinator.loaded():
        world.coordinator._compactor.watch(partition)


@pytest.mark.parametrize("flush", [False, True])
async def test_a_log_of_many_records_is_compacted_to_its_ids(flush: bool) -> None:
    world = TransactionalBroker(_ONE_PARTITION | ({"log.flush.interval.messages": "1"} if flush else {}))
    await _five_ids(world)
    await settle()
    assert _extent(world)[0] == 0
    _, end = _extent(world)
    assert end == 16
    for _ in range(5):
        await world.producer("tx0")
    before = _states(world)
    await _until_compacted(world)
    start, end = _extent(world)
    assert end - start == 5
    assert world.log(0, TRANSACTION_STATE_TOPIC).recovery_point == end, "on the disk, flushing or not"
    assert _states(world) == before
    world = await world.restart("nothing")
    assert _states(world) == before
    await world.close()


async def test_what_happens_meanwhile_is_behind_the_new_start(monkeypatch: pytest.MonkeyPatch) -> None:
    world = TransactionalBroker(_ONE_PARTITION)
    await _five_ids(world)
    producer = await world.producer("tx0")
    _begin(world, monkeypatch)
    await turn()
    await producer.send(b"meanwhile", 2)
    await turn()
    await world.producer("new")
    await producer.end(commit=True)
    before = _states(world)
    await _until_compacted(world)
    assert _states(world) == before
    assert before["tx0"].state is S.COMPLETE_COMMIT
    world = await world.restart()
    assert _states(world) == before
    await world.close()


async def test_ids_that_expired_need_nothing() -> None:
    world = TransactionalBroker(_ONE_PARTITION)
    for _ in range(20):
        await world.producer("tx")
    await world.advance(8 * _DAY_MS)
    assert _states(world) == {}
    await world.producer("other")
    await _until_compacted(world)
    world = await world.restart()
    assert set(_states(world)) == {"other"}
    await world.close()


async def test_it_happens_again_only_after_as_many_records_more() -> None:
    world = TransactionalBroker(_ONE_PARTITION)
    world.broker.broker._flush_thread = InThisThread()
    starts = []
    for _ in range(60):
        await world.producer("tx")
        await settle()
        starts.append(_extent(world)[0])
        assert _extent(world)[1] - starts[-1] <= 2 * 20 + 2
    assert len(set(starts)) == 3
    await world.close()


async def test_a_log_found_too_long_is_compacted_after_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    world = TransactionalBroker(_ONE_PARTITION)
    monkeypatch.setattr(compaction, "RECORDS_MIN", 1_000)
    for _ in range(30):
        await world.producer("tx")
    monkeypatch.setattr(compaction, "RECORDS_MIN", 12)
    before = _states(world)
    world = await world.restart()
    await _until_compacted(world)
    assert _extent(world) == (30, 31)
    assert _states(world) == before
    await world.close()


async def test_with_transaction_version_0_records_have_no_room_and_the_log_stays() -> None:
    world = TransactionalBroker(_ONE_PARTITION)
    world.coordinator._transaction_version = lambda: 0
    for _ in range(30):
        await world.producer("tx")
    await settle()
    assert _extent(world)[0] == 0
    await world.close()


@pytest.mark.parametrize("failing", ["pwrite", "sync"])
async def test_a_disk_that_refuses_leaves_the_log_as_it_is(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = TransactionalBroker(_ONE_PARTITION)
    await _five_ids(world)
    _begin(world, monkeypatch)
    world.files.fail(failing, errno.EIO)
    for _ in range(20):
        await settle()
    await world.broker.broker.thread_is_idle()  # so that it has met the failure
    await settle()
    assert _extent(world)[0] == 0
    before = _states(world)
    world.files.heal()
    world.files.crash("everything")
    world.broker.is_closed = True
    again = TransactionalBroker(world.settings, world.files)
    await again.until(again.broker.broker.settle_transactions())
    assert _states(again) == before
    await again.close()


async def test_segments_before_the_start_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "RECORDS_MIN", 40)
    world = TransactionalBroker(_ONE_PARTITION)
    _in_small_segments(world)
    world.broker.broker._flush_thread = InThisThread()
    for _ in range(42):
        await world.producer("tx")
    log = world.log(0, TRANSACTION_STATE_TOPIC)
    await _compacted_and_upkept(world)
    assert log.first_segment_base_offset > 0
    before = _states(world)
    world = await world.restart()
    assert _states(world) == before
    assert _extent(world)[0] > 0
    await world.close()


async def _life(cut: int | None, flush: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Fill a log until it is compacted, with the power cut before a change; then what the next run knows is judged.

    Returns between which changes the log was being compacted.
    """
    monkeypatch.setattr(compaction, "RECORDS_MIN", 20)
    world = TransactionalBroker(_ONE_PARTITION | ({"log.flush.interval.messages": "1"} if flush else {}))
    _in_small_segments(world)
    world.broker.broker._flush_thread = InThisThread()
    await _five_ids(world)
    _begin(world, monkeypatch)
    first = world.files.changes_made
    before = _states(world)
    if cut is not None:
        world.files.cut_power_at(first + cut)
    upkeep = asyncio.ensure_future(_compacted_and_upkept(world))
    try:
        await world.until(upkeep)
    except PowerCut:
        assert cut is not None
        upkeep.cancel()
    last = world.files.changes_made
    world.files.crash("nothing" if flush else "everything")
    world.broker.is_closed = True
    again = TransactionalBroker(world.settings, world.files)
    await again.until(again.broker.broker.settle_transactions())
    assert _states(again) == before
    await again.producer("tx3")
    await again.close()
    return first, last


@pytest.mark.parametrize("flush", [False, True])
async def test_the_power_may_be_cut_before_any_change_of_the_disk(flush: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = await _life(None, flush, monkeypatch)
    assert last - first >= 5
    for cut in range(last - first):
        await _life(cut, flush, monkeypatch)
