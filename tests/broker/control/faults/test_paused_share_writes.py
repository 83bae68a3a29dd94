"""Faults that pause a share group's change of state before or after its record: it goes on when it is released."""

import json
import re

import pytest

from barnabas.broker.control.faults.registry import FaultRegistry
from barnabas.broker.insight.why.rules.deliveries import DeliveryStatus, GroupDelivery, delivery_sentences
from barnabas.broker.insight.why.rules.held_requests import HeldFacts
from barnabas.broker.insight.why.sources.armed_faults import ArmedFaults
from barnabas.broker.partitions.share.persister import DeliveryState, SharePartitionKey
from barnabas.broker.partitions.share.share_sessions import SessionPartition
from barnabas.protocol.errors import ErrorCode
from tests.support.why import Asked
from tests.support.worlds.share_world import ShareMember, ShareWorld

ACCEPT = 1
WRITING, WRITTEN = "share.record_writing", "share.record_written"
POINTS = pytest.mark.parametrize("point", [WRITING, WRITTEN])


async def world_with_records() -> ShareWorld:
    """A broker with three records, which the group may read from the first on."""
    world = ShareWorld(in_memory=False)
    for value in (b"a", b"b", b"c"):
        world.append("t", value)
    world.services.groups.share.alter("g", {(world.topic_id, 0): 0})
    await world.settle()
    await world.advance(1_000)
    world.services.share_partitions.get("g", SessionPartition(world.topic_id, 0))
    await world.settle()
    return world


def pause(world: ShareWorld, point: str) -> FaultRegistry:
    """Pause the next acknowledgement by the fault `stopped`."""
    match = {"point": point, "group": "g", "delivery_states": "acknowledged"}
    faults = world.broker.faults.get()
    faults.arm_json(json.dumps({"name": "stopped", "match": match, "do": {"pause": True}}))
    return faults.registry


async def begin_to_acknowledge(member: ShareMember, *types: int) -> None:
    member.peer.ask(member.request(0, acks=((0, len(types) - 1, list(types)),), max_records=0))
    await member.world.settle()


def acknowledged(member: ShareMember) -> int:
    """The error of the acknowledgement that was begun."""
    (row,) = member.peer.answer().responses[0].partitions
    code: int = row.acknowledge_error_code
    return code


def stored(world: ShareWorld) -> list[tuple[int, int, int]]:
    """The ranges in the stored state: first offset, last offset, delivery state."""
    ((_, state),) = list(world.services.shares.every_state())
    return [(each.first_offset, each.last_offset, each.delivery_state) for each in state.batches]


@POINTS
async def test_an_acknowledgement_waits_until_it_is_released(point: str) -> None:
    world = await world_with_records()
    faults = pause(world, point)
    member = world.member()
    await member.fetch()
    await begin_to_acknowledge(member, ACCEPT)
    await world.advance(20_000)
    assert faults.get("stopped").standing == 1
    assert member.peer.answers() == []
    accepted = (0, 0, DeliveryState.ACKNOWLEDGED)
    assert (accepted in stored(world)) is (point == WRITTEN)
    assert faults.release("stopped") == 1
    await world.settle()
    assert acknowledged(member) == ErrorCode.NONE
    assert accepted in stored(world)


@POINTS
async def test_why_names_the_fault_for_the_record_and_for_no_other(point: str) -> None:
    world = await world_with_records()
    asked = Asked(world.services, held_up=ArmedFaults(world.broker.faults))
    pause(world, point)
    member = world.member()
    await member.fetch()
    await begin_to_acknowledge(member, ACCEPT)
    sentences = (await asked.record("t", 0, 0)).sentences
    assert sentences[-2].endswith(" That is being stored, and fetches do not see it yet.")
    waits = rf"This change waits at the step {point}, paused by fault stopped for .* so far: "
    assert re.fullmatch(rf"{waits}`barnabas faults release stopped` resumes it\.", sentences[-1])
    assert "stopped" not in " ".join((await asked.record("t", 0, 1)).sentences)


async def test_a_change_of_other_records_passes_the_paused_one() -> None:
    world = await world_with_records()
    faults = pause(world, WRITING)
    first, second = world.member("first"), world.member("second")
    assert await first.acquire(max_records=1) == [(0, 0, 1)]
    await begin_to_acknowledge(first, ACCEPT)
    assert await second.acquire() == [(1, 2, 1)]
    await second.acknowledge((1, 1, [ACCEPT]))
    assert stored(world) == [(1, 1, DeliveryState.ACKNOWLEDGED)]
    faults.release("stopped")
    await world.settle()
    assert stored(world) == [(0, 1, DeliveryState.ACKNOWLEDGED)]
    assert await second.acquire() == []


@POINTS
async def test_a_stop_waits_for_no_paused_write(point: str) -> None:
    world = await world_with_records()
    faults = pause(world, point)
    member = world.member()
    await member.fetch()
    await begin_to_acknowledge(member, ACCEPT)
    await world.close()
    assert faults.every() == []


async def test_a_paused_write_is_decided_about_when_it_is_released_and_refused_if_its_topic_is_gone() -> None:
    world = await world_with_records()
    faults = pause(world, WRITING)
    member = world.member()
    await member.fetch()
    await begin_to_acknowledge(member, ACCEPT)
    world.services.catalogue.delete_topics(["t"])
    await world.settle()
    faults.release("stopped")
    await world.settle()
    assert acknowledged(member) == ErrorCode.UNKNOWN_SERVER_ERROR, "as a write that comes after the deletion"
    assert list(world.services.shares.every_state()) == []


@POINTS
async def test_a_state_that_begins_waits_until_it_is_released(point: str) -> None:
    world = ShareWorld(in_memory=False)
    world.append("t", b"a")
    faults = world.broker.faults.get()
    fault = {"name": "stopped", "match": {"point": point, "group": "g"}, "do": {"pause": True}}
    faults.arm_json(json.dumps(fault))
    begun = world.services.persister.initialize(SharePartitionKey("g", world.topic_id, 0), 1, 0)
    await world.settle()
    assert not begun.done()
    faults.registry.release("stopped")
    await begun
    assert len(list(world.services.shares.every_state())) == 1


@pytest.mark.parametrize(
    ("status", "what"), [(DeliveryStatus.LOADING, "That"), (DeliveryStatus.ARCHIVING, "Its dead letter")]
)
def test_what_else_waits_at_a_paused_step_is_named(status: DeliveryStatus, what: str) -> None:
    held = HeldFacts("stopped", "pause", 12_000, point="share.x")
    _, sentence = delivery_sentences((GroupDelivery("g", status, is_used=True, held=held),))
    where = "waits at the step share.x, paused by fault stopped for 12 s so far"
    assert sentence == f"{what} {where}: `barnabas faults release stopped` resumes it."
