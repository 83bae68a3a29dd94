"""A Fetch of more partitions than one turn of the event loop has time to open: others are served in between."""

import asyncio
from itertools import count

import pytest

from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.protocol.errors import ErrorCode as E
from barnabas.storage.steps import Steps
from tests.support.worlds.broker import BrokerWorld, Peer, request_frame, settle, turn, until
from tests.support.worlds.killed_partitions import fetch, fetched, killed, produce, produced

MANY = 24


async def cleanly_stopped(size: int, nodes: int = 1) -> BrokerWorld:
    """A broker over what one left that stopped cleanly: MANY partitions of so many records.

    Its stopwatch goes on by a millisecond whenever it is looked at.
    """
    first = await killed(*[size] * MANY)
    for partition in range(MANY):
        first.services.partitions.get("t", partition)
    await first.close()
    milliseconds = count()
    return BrokerWorld(files=first.files, stopwatch=lambda: next(milliseconds) / 1000, nodes=nodes)


async def fetching(size: int, nodes: int = 1) -> tuple[BrokerWorld, Peer]:
    """Such a broker, and a client that has asked it for all of them."""
    world = await cleanly_stopped(size, nodes)
    peer = world.asking(fetch(world, *range(MANY)))
    return world, peer


def opened(world: BrokerWorld) -> int:
    return sum(world.services.partitions.is_open("t", partition) for partition in range(MANY))


async def test_a_fetch_of_many_partitions_is_answered_when_all_are_open_and_without_an_error() -> None:
    world, peer = await fetching(1)
    assert 0 < opened(world) < MANY
    assert not peer.frames()
    await until(lambda: opened(world) == MANY)
    await peer.until_answered()
    results = fetched(peer)
    assert [(each.partition_index, each.error_code, each.high_watermark) for each in results] == [
        (index, E.NONE, 1) for index in range(MANY)
    ]


async def test_others_are_served_while_a_fetch_opens_partitions() -> None:
    world = await cleanly_stopped(1)
    waiting, reader, writer = world.connect(), world.connect(), world.connect()
    waiting.ask(fetch(world, *range(MANY)))
    assert not waiting.frames()
    await turn()
    writer.ask(produce(world, MANY - 1))
    (written,) = produced(writer)
    assert (written.error_code, written.base_offset) == (E.NONE, 1)
    reader.ask(fetch(world, MANY - 1))
    (result,) = fetched(reader)
    assert (result.error_code, result.high_watermark) == (E.NONE, 2)
    assert not waiting.frames()


async def test_a_fetch_is_answered_though_something_else_uses_up_every_turn() -> None:
    world = await cleanly_stopped(1)

    def without_end() -> Steps[None]:
        while True:
            yield

    busy = world.services.upkeep.in_slices(without_end, WorkClass(slice_ms=10))
    assert isinstance(busy, asyncio.Future)
    peer = world.asking(fetch(world, *range(MANY)))
    await peer.until_answered()
    assert [each.error_code for each in fetched(peer)] == [E.NONE] * MANY
    busy.cancel()


async def test_a_produce_to_many_partitions_is_appended_when_all_are_open_and_before_what_comes_behind_it() -> None:
    world = await cleanly_stopped(1)
    peer, other = world.connect(), world.connect()
    peer.ask(produce(world, *range(MANY)))
    peer.ask(produce(world, 0))
    assert 0 < opened(world) < MANY
    assert not peer.frames()
    other.ask(fetch(world, 0))
    assert fetched(other)[0].high_watermark == 1
    await until(lambda: opened(world) == MANY)
    await peer.until_answered()
    first, second = peer.answers()
    results = first.responses[0].partition_responses
    assert [(each.index, each.error_code, each.base_offset) for each in results] == [
        (index, E.NONE, 1) for index in range(MANY)
    ]
    assert second.responses[0].partition_responses[0].base_offset == 2
    assert world.services.partitions.recoveries.parked_bytes == 0


async def test_requests_for_one_partition_each_that_come_together_open_them_in_turns_too() -> None:
    world = await cleanly_stopped(1)
    peer = world.connect()
    frames = [request_frame(produce(world, index), 13, index) for index in range(MANY)]
    peer.transport.send(b"".join(frames))
    assert 0 < opened(world) < MANY
    await until(lambda: opened(world) == MANY)
    partitions = world.services.partitions
    await until(lambda: all(partitions.get("t", index).log_end_offset == 2 for index in range(MANY)))


async def test_a_produce_opens_all_at_once_where_there_is_no_room_for_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.broker.partitions.produce.delayed_produce.PARKED_BYTES_MAX", 100)
    world = await cleanly_stopped(1)
    peer = world.asking(produce(world, *range(MANY)))
    assert [each.error_code for each in produced(peer)] == [E.NONE] * MANY


async def test_batches_for_many_partitions_are_appended_after_their_producer_disconnects() -> None:
    world = await cleanly_stopped(1)
    peer = world.asking(produce(world, *range(MANY)))
    peer.transport.hang_up()
    partitions = world.services.partitions
    await until(lambda: opened(world) == MANY and partitions.get("t", MANY - 1).log_end_offset == 2)
    assert [partitions.get("t", index).log_end_offset for index in range(MANY)] == [2] * MANY
    assert world.services.partitions.recoveries.parked_bytes == 0


async def test_a_fetch_that_finds_nothing_once_all_are_open_waits_for_records() -> None:
    world, peer = await fetching(0)
    await until(lambda: len(world.services.purgatory))
    assert not peer.frames()
    assert len(world.services.purgatory) == 1
    world.append("t", b"v", partition=3)
    await settle()
    assert [each.high_watermark for each in fetched(peer)] == [1 if index == 3 else 0 for index in range(MANY)]


async def test_nothing_stays_of_a_connection_that_is_gone_while_partitions_are_opened_for_it() -> None:
    world, peer = await fetching(0)
    await turn()
    peer.transport.hang_up()
    await settle()
    assert opened(world) < MANY
    assert world.services.request_scheduler.are_over


async def test_nothing_stays_of_a_connection_that_is_gone_while_it_waits_for_records() -> None:
    world, peer = await fetching(0)
    await until(lambda: len(world.services.purgatory))
    peer.transport.hang_up()
    await settle()
    assert len(world.services.purgatory) == 0


async def test_several_nodes_open_in_turns_too() -> None:
    _, peer = await fetching(1, nodes=2)
    assert not peer.frames()
    await peer.until_answered()
    results = fetched(peer)
    assert {each.error_code for each in results} == {E.NONE, E.NOT_LEADER_OR_FOLLOWER}
