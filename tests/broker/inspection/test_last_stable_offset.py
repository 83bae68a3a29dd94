"""Who holds a partition's last stable offset back: found in the partition and in the coordinator, and joined."""

from __future__ import annotations

import pytest

from barnabas.broker.inspection import last_stable_offset
from barnabas.broker.inspection.last_stable_offset import Holder, holders
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.steps import finish
from tests.support.inspected_broker import Inspected

PLACE = ("t", 0)


def found(world: Inspected) -> tuple[Holder, ...]:
    return finish(holders(world.services, *PLACE))


async def world_with(*topics: str) -> Inspected:
    world = Inspected()
    for topic in topics or ("t",):
        world.services.catalogue.create_topic(topic, 2)
    return world


async def test_nobody_holds_back_what_was_never_written_to_or_has_no_transaction() -> None:
    world = await world_with()
    assert found(world) == ()
    world.append("t", b"a", producer=(50, 0, 0))
    assert found(world) == ()


async def test_open_transactions_are_found_with_their_producer_and_start_the_first_one_first() -> None:
    world = await world_with()
    world.append("t", b"a", b"b")
    begun_ms = world.clock.now_ms()
    first = await world.begin("first", PLACE)
    world.clock.advance(1_000)
    second = await world.begin("second", ("t", 1), PLACE)
    await world.begin("elsewhere", ("t", 1))
    one, two = found(world)
    assert one[:5] == (2, first.producer_id, first.producer_epoch, begun_ms, False)
    assert two[:5] == (3, second.producer_id, second.producer_epoch, begun_ms + 1_000, False)
    assert one.transaction is not None
    assert one.transaction.transactional_id == "first"
    assert one.transaction.start_timestamp_ms == begun_ms
    assert two.transaction is not None
    assert two.transaction.transactional_id == "second"
    assert not one.is_hanging
    assert world.services.partitions.get(*PLACE).last_stable_offset == one.first_offset


async def test_who_ended_holds_nothing_back() -> None:
    world = await world_with()
    first = await world.begin("first", PLACE)
    second = await world.begin("second", PLACE)
    await world.end("first", first, is_commit=True)
    assert [each.first_offset for each in found(world)] == [1]
    await world.end("second", second, is_commit=False)
    assert found(world) == ()


async def test_a_transaction_that_no_coordinator_knows_hangs() -> None:
    world = await world_with()
    begun_ms = world.clock.now_ms()
    world.append("t", b"a", producer=(50, 7, 0), transactional=True)
    assert found(world) == (Holder(0, 50, 7, begun_ms, False, None),)
    assert found(world)[0].is_hanging


async def test_a_transaction_of_the_same_producer_on_another_partition_is_not_the_owner() -> None:
    world = await world_with()
    mine = await world.begin("x", ("t", 1))
    world.append("t", b"a", producer=(mine.producer_id, mine.producer_epoch, 0), transactional=True)
    (holder,) = found(world)
    assert holder.is_hanging


async def test_one_whose_marker_is_not_shown_yet_holds_back_and_does_not_hang() -> None:
    world = await world_with()
    world.append("t", b"a", producer=(50, 7, 0), transactional=True)
    marker = EndTxnMarker(True, 50, 7, 0, -1, world.clock.now_ms())
    world.services.partitions.append_marker(*PLACE, marker, hold=True)
    (holder,) = found(world)
    assert (holder.first_offset, holder.has_marker, holder.is_hanging) == (0, True, False)
    world.services.partitions.release_marker(*PLACE, 50)
    assert found(world) == ()


async def test_a_high_watermark_that_stands_is_nobodys_transaction() -> None:
    world = await world_with()
    world.demand_replicas("t", 2)
    world.append("t", b"a", producer=(50, 7, 0), transactional=True)
    assert found(world) == ()


async def test_one_that_ends_while_others_have_their_turn_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_stable_offset, "_PIECE", 1)
    world = await world_with()
    first = await world.begin("first", PLACE)
    await world.begin("second", PLACE)
    steps = holders(world.services, *PLACE)
    next(steps)
    await world.end("first", first, is_commit=True)
    third = await world.begin("third", PLACE)
    (holder,) = finish(steps)
    assert holder.transaction is not None
    assert holder.transaction.transactional_id == "second"
    assert [each.producer_id for each in found(world)][1:] == [third.producer_id]


async def test_while_transactions_are_being_loaded_nothing_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await world_with()
    await world.begin("x", PLACE)

    def loads() -> None:
        raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    monkeypatch.setattr(world.services.transactions, "transactions", loads)
    with pytest.raises(KafkaError) as refused:
        found(world)
    assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
