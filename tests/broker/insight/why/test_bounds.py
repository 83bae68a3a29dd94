"""Nobody can make the broker do much at a time by asking why; and what hangs altogether."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from barnabas.broker.insight.inspection import groups
from barnabas.broker.insight.inspection.groups import GroupSummary, LoadedGroup
from barnabas.broker.insight.why import hanging
from barnabas.broker.insight.why.positions import Budget, contents
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.broker.insight.why.why import Why
from barnabas.storage.log.batches import LogBatch
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.steps import finish
from tests.broker.insight.why.test_consumers import heartbeat
from tests.broker.insight.why.test_groups import Classic
from tests.support.inspected_broker import Inspected
from tests.support.why import Asked
from tests.support.worlds.broker import until

T_0 = b"\0\0\0\0\0\1\0\1t\0\0\0\1\0\0\0\0\0\0\0\0"  # an assignment


@pytest.mark.pure
async def test_a_step_reads_few_batches_and_a_question_no_more_than_its_budget(
    world: Inspected, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(300):
        world.append("t", b"v")
    log = world.services.partitions.get("t", 0)
    read: list[LogBatch] = []

    def batches(self: PartitionLog, offset: int) -> AsyncIterator[LogBatch]:
        def walk():  # type: ignore[no-untyped-def]  # because it stands in for a method
            for each in original(self, offset):
                read.append(each)
                yield each

        return walk()  # type: ignore[no-untyped-call, no-any-return]  # as above

    original = PartitionLog.batches
    monkeypatch.setattr(PartitionLog, "batches", batches)
    most = before = 0
    for _ in contents(log, 0, Budget()):
        most, before = max(most, len(read) - before), len(read)
    assert len(read) == 300
    assert most <= 21
    read.clear()
    found = finish(contents(log, 0, Budget(50)))
    assert len(read) == 51
    assert (found.readable_records, found.looked_to, found.is_whole) == (50, 50, False)


async def test_work_that_takes_long_goes_on_in_other_turns(world: Inspected) -> None:
    for _ in range(22_000):
        world.append("t", b"v")
    await world.commit("g", "t", 0)
    asked = Why(world.services).consumer("g")
    assert isinstance(asked, asyncio.Future)
    assert "22000 records that can be read now" in str(await asked)


async def test_a_query_during_a_stop_is_cancelled(world: Inspected) -> None:
    for _ in range(22_000):
        world.append("t", b"v")
    await world.commit("g", "t", 0)
    asked = Why(world.services).consumer("g")
    assert isinstance(asked, asyncio.Future)
    await world.close()
    await until(asked.done)
    assert asked.cancelled()


@pytest.mark.pure
async def test_of_very_many_groups_few_are_looked_at_in_a_step_and_one_that_hangs_is_found(
    world: Inspected, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1_500):
        await world.commit(f"a-{number}", "t", 0)
    await Classic(world).alone()
    await Classic(world).join()
    looked: list[str] = []
    original = LoadedGroup.summary

    def summary(self: LoadedGroup) -> GroupSummary | None:
        looked.append(self.group_id)
        return original(self)

    monkeypatch.setattr(LoadedGroup, "summary", summary)
    monkeypatch.setattr(groups, "loaded_groups", None)  # it sorts all at once
    most = before = 0
    steps = hanging.hanging(WhySources(world.services))
    try:
        while True:
            next(steps)
            most, before = max(most, len(looked) - before), len(looked)
    except StopIteration as stop:
        found = stop.value
    assert len(set(looked)) == 1_501
    assert most <= 200
    assert list(found) == ["group g"]


async def test_of_very_many_transactions_the_oldest_are_reported_and_few_kept_in_a_step(
    world: Inspected, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    for number in range(30):
        world.clock.advance(1)
        await world.begin(f"tx-{number}", ("t", 1))
    monkeypatch.setattr(hanging, "_A_STEP", 7)
    assert await asked.hanging() == {}, "none is a second old: all are at work"
    world.clock.advance(hanging.LONGER_THAN_MS)
    found = await asked.hanging()
    assert list(found) == [*(f"transactional id tx-{number}" for number in range(hanging.EACH_MAX)), "more"]
    assert str(found["more"]) == "25 more open transactions: `barnabas txn list`."


async def test_all_that_hangs_is_reported_and_nothing_where_nothing_does(
    world: Inspected, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    assert await asked.hanging() == {}
    await Classic(world).alone()
    await world.commit("reads", "t", 0)
    world.append("t", b"v")
    assert await asked.hanging() == {}
    await world.begin("tx", ("t", 0))
    await Classic(world).join()
    world.clock.advance(hanging.LONGER_THAN_MS)
    found = await asked.hanging()
    assert list(found) == ["transactional id tx", "group g", "consumer reads"]
    assert found["group g"].sentences[0] == "Group g rebalances: it waits for 1 member to join again."
    monkeypatch.setattr(hanging, "EACH_MAX", 3)
    for number in range(5):
        world.clock.advance(1)
        await world.begin(f"tx-{number}", ("t", 1))
    world.clock.advance(hanging.LONGER_THAN_MS)
    assert [about for about in await asked.hanging() if about.startswith("transactional")] == [
        "transactional id tx",
        "transactional id tx-0",
        "transactional id tx-1",
    ]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_new_group_whose_first_record_stands_in_a_transaction_is_held_back(
    world: Inspected, protocol: str, asked: Asked
) -> None:
    if protocol == "consumer":
        await heartbeat(world, "g", "t")
    else:
        alone = Classic(world)
        await alone.join()
        await alone.joined()
        await alone.sync(alone, assignment=T_0)
    mine = await world.begin("tx", ("t", 0))
    world.clock.advance(hanging.LONGER_THAN_MS)
    told = await asked.hanging()
    assert list(told) == ["transactional id tx", "consumer g"]
    assert "They are held by transactional id tx" in str(told["consumer g"])
    assert "back in t-0: `barnabas why consumer g` shows which." in str(await asked.group("g"))
    await world.end("tx", mine, is_commit=True)
    assert await asked.hanging() == {}
    assert "transaction" not in str(await asked.group("g"))


async def test_transactions_without_a_coordinator_hang_as_for_find_hanging(world: Inspected, asked: Asked) -> None:
    world.append("t", b"lost", producer=(4_711, 0, 0), transactional=True)
    told = await asked.hanging()
    assert list(told) == ["hanging transaction t-0"]
    assert "t:0 is held at offset 0 by producer 4711." in str(told["hanging transaction t-0"])
