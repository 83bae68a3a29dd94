"""Faults at the steps of a dead letter: it is held before its write, or before its record is archived."""

import asyncio
import json

import pytest

from barnabas.broker.control.faults.registry import FaultRegistry
from barnabas.broker.partitions.share.burials import Burials
from barnabas.broker.partitions.share.persister import SharePartitionKey
from tests.broker.partitions.share.test_dead_letter_queue import (
    ARCHIVED,
    ARCHIVING,
    REJECT,
    REJECTED,
    Letter,
    letters_in,
    rejecting,
    stored_states,
    world_with_queue,
)
from tests.support.worlds.broker import settle
from tests.support.worlds.share_world import ShareWorld

WRITING, WRITTEN = "share.dead_letters_writing", "share.dead_letters_written"


def hold(world: ShareWorld, point: str) -> FaultRegistry:
    """Hold the first dead letter at this step by the fault `hold`."""
    match = {"point": point, "group": "g", "dead_letter_topic": "dlq.*"}
    faults = world.broker.faults.get()
    faults.arm_json(json.dumps({"name": "hold", "match": match, "do": {"pause": True}}))
    return faults.registry


@pytest.mark.parametrize(("point", "written_count"), [(WRITING, 0), (WRITTEN, 1)])
async def test_a_dead_letter_that_is_held_goes_on_when_it_is_released(point: str, written_count: int) -> None:
    world = world_with_queue()
    faults = hold(world, point)
    await rejecting(world, b"a")
    await world.advance(3_600_000)
    assert (len(letters_in(world)), stored_states(world)) == (written_count, [(0, 0, ARCHIVING)])
    assert faults.release("hold") == 1
    await settle()
    assert (len(letters_in(world)), stored_states(world)) == (1, [(0, 0, ARCHIVING), (0, 0, ARCHIVED)])


@pytest.mark.parametrize("point", [WRITING, WRITTEN])
async def test_a_stop_waits_for_no_dead_letter_that_is_held(point: str) -> None:
    world = world_with_queue()
    faults = hold(world, point)
    await rejecting(world, b"a")
    assert faults.get("hold").standing == 1
    await world.close()
    again = ShareWorld(after=world)
    await again.member().fetch()
    await settle()
    assert {letter.offset for letter in letters_in(again)} == {0}
    assert stored_states(again)[-1] == (0, 0, ARCHIVED)


@pytest.mark.parametrize("point", [WRITING, WRITTEN])
async def test_a_state_that_is_loaded_again_meanwhile_has_its_dead_letter_once(point: str) -> None:
    world = world_with_queue()
    faults = hold(world, point)
    await rejecting(world, b"a")
    manager = world.services.share_partitions
    (led,) = manager.every_led()
    manager._drop(led)
    world.append("t", b"b")
    member = world.member("next")
    assert await member.acquire() == [], "it waits"
    faults.release("hold")
    await settle()
    assert await member.acquire() == [(1, 1, 1)]
    assert letters_in(world) == [Letter(0, 1, REJECTED)]
    assert stored_states(world) == [(0, 0, ARCHIVING), (0, 0, ARCHIVED)]


async def test_a_state_that_is_dropped_before_it_is_stored_has_its_dead_letter_once() -> None:
    world = world_with_queue()
    world.append("t", b"a")
    member = world.member()
    await member.fetch()
    world.persister.held = []
    member.peer.ask(member.request(0, acks=((0, 0, [REJECT]),)))
    await settle()
    manager = world.services.share_partitions
    (led,) = manager.every_led()
    manager._drop(led)
    again = world.member("next")
    await again.fetch()
    world.persister.let_go()
    await settle()
    assert letters_in(world) == [Letter(0, 1, REJECTED)]
    assert stored_states(world) == [(0, 0, ARCHIVING), (0, 0, ARCHIVED)]


async def test_the_next_leader_waits_for_the_dead_letters_of_the_one_before() -> None:
    burials, key = Burials(), SharePartitionKey("g", bytes(16), 0)
    loop = asyncio.get_running_loop()
    assert burials.ended(key, loop) is None
    burials.begin(key)
    burials.begin(key)
    ended = burials.ended(key, loop)
    assert ended is not None
    assert burials.ended(key, loop) is ended
    burials.end(key)
    assert not ended.done()
    burials.end(key)
    assert ended.done()
    assert burials.ended(key, loop) is None
