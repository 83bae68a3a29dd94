"""Groups of both protocols with so many partitions that a target takes longer than a turn of the event loop."""

from asyncio import Future
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from barnabas.broker.coordinator.group.decisions.classic.model import JoinReply
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerConfig, HeartbeatReply
from barnabas.broker.coordinator.runtime.shard import TIMER_RETRY_MS
from barnabas.client.consume.assignors import assigned_partitions, encode_assignment
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.clients.classic_members import subscription
from tests.support.worlds.group import GroupWorld, reply_of

_MANY = 4_000
_MEMBERS = 300


@pytest.fixture
def world() -> Iterator[GroupWorld]:
    with GroupWorld(consumer_config=ConsumerConfig(assignment_interval_ms=0)) as world:
        world.topics.make("t", _MANY)
        yield world


def _joins(world: GroupWorld, member_id: str = "") -> Any:
    return world.join(member_id=member_id, protocols=[("range", subscription(["t"]))], version=3, session_ms=60_000)


def _answered(world: GroupWorld, reply: Any) -> Any:
    """The reply, once the loop has turned until it came; it did not come at once."""
    assert isinstance(reply, Future)
    world.settle()
    assert not reply.done(), "one turn is not enough"
    world.answered(reply)
    return reply.result()


def _classic_group(world: GroupWorld) -> str:
    """A classic group of one; its member's id."""
    joining = _joins(world)
    world.advance(0)
    joined: JoinReply = reply_of(joining)
    given = encode_assignment([("t", number) for number in range(_MANY)])
    world.sync(joined.member_id, joined.generation_id, [(joined.member_id, given)])
    return joined.member_id


def test_a_classic_member_is_let_in_with_its_target(world: GroupWorld) -> None:
    assert _answered(world, world.beat("n")).member_epoch == 2
    joined: JoinReply = _answered(world, _joins(world, "a"))
    assert (joined.error, joined.generation_id) == (ErrorCode.NONE, 3)
    target = world.coordinator.consumer.describe("g").targets["a"]
    assert sum(map(len, target.values())) == _MANY // 2


def test_a_group_is_upgraded_in_one_batch(world: GroupWorld) -> None:
    member_id = _classic_group(world)
    batches_count = world.topic.batches_count
    reply = world.beat("n")
    assert world.heartbeat(member_id, 1) is ErrorCode.NONE, "it is a classic group until it is another"
    assert _answered(world, reply).member_epoch == 2
    assert world.topic.batches_count == batches_count + 1
    assert world.heartbeat(member_id, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert len(assigned_partitions(reply_of(_again(world, member_id)).assignment)) == _MANY // 2


def _again(world: GroupWorld, member_id: str) -> Any:
    joined: JoinReply = reply_of(_joins(world, member_id))
    return world.sync(member_id, joined.generation_id)


def test_the_last_classic_member_leaves_after_the_upgrade(world: GroupWorld) -> None:
    member_id = _classic_group(world)
    reply, goodbye = world.beat("n"), world.leave((member_id, None))
    assert _answered(world, reply).member_epoch == 2
    world.settle()
    assert reply_of(goodbye) == (ErrorCode.NONE,)
    assert list(world.coordinator.consumer.describe("g").members) == ["n"]


def test_an_assignment_requested_during_the_upgrade_is_answered_after_it(world: GroupWorld) -> None:
    member_id = _classic_group(world)
    upgrade, sync = world.beat("n"), world.sync(member_id, 1)
    assert _answered(world, upgrade).member_epoch == 2
    world.settle()
    assert reply_of(sync).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_partitions_that_there_are_no_more_are_left_out_of_the_upgrade(world: GroupWorld) -> None:
    _classic_group(world)
    world.topics.delete("t")
    world.topics.make("t", 3)
    reply: HeartbeatReply = reply_of(world.beat("n"))
    assert reply.member_epoch == 2
    targets = world.coordinator.consumer.describe("g").targets.values()
    assert sorted(number for target in targets for numbers in target.values() for number in numbers) == [0, 1, 2]


def _large_group(world: GroupWorld) -> list[str]:
    """A consumer group of one consumer, `n`, and so many members of the classic protocol; their ids."""
    world.consumer_config = replace(world.consumer_config, assignment_interval_ms=60_000)
    world.topics.delete("t")
    world.topics.make("t", 3)
    reply_of(world.beat("n"))
    ids = [f"m{number}" for number in range(_MEMBERS)]
    replies = [_joins(world, member_id) for member_id in ids]
    world.turns()
    assert {reply_of(reply).error for reply in replies} == {ErrorCode.NONE}
    return ids


def test_a_large_group_is_downgraded_in_slices_and_one_batch(world: GroupWorld) -> None:
    ids = _large_group(world)
    batches_count, reply = world.topic.batches_count, world.beat("n", -1)
    assert isinstance(reply, Future)
    assert len(world.coordinator.consumer.describe("g").members) == 1 + _MEMBERS, "nothing is seen half"
    assert _answered(world, reply).member_epoch == -1
    assert world.topic.batches_count == batches_count + 1
    group = world.group()
    assert (group.state, sorted(group.members)) == (ClassicGroupState.PREPARING_REBALANCE, sorted(ids))
    world.crash()
    world.coordinator.prepare("g")
    world.turns()
    assert sorted(world.group().members) == sorted(ids)


def test_a_crash_in_the_middle_of_a_downgrade_leaves_the_consumer_group(world: GroupWorld) -> None:
    _large_group(world)
    before = world.coordinator.consumer.describe("g")
    world.beat("n", -1)
    world.settle()
    world.crash()
    world.coordinator.prepare("g")
    world.turns()
    assert world.coordinator.consumer.describe("g") == before


def test_a_downgrade_that_cannot_be_written_changes_nothing(world: GroupWorld) -> None:
    _large_group(world)
    before, reply = world.coordinator.consumer.describe("g"), world.beat("n", -1)
    world.topic.refuse_with = ErrorCode.MESSAGE_TOO_LARGE
    world.turns()
    assert isinstance(reply, Future)
    assert isinstance(reply.exception(), KafkaError)
    assert world.coordinator.consumer.describe("g") is before


def test_the_session_of_the_last_consumer_ends_in_slices_and_again_if_that_is_refused(world: GroupWorld) -> None:
    _large_group(world)
    world.clock.advance(44_000)
    for member_id, member in world.coordinator.consumer.describe("g").members.items():
        if member.classic is not None:
            world.heartbeat(member_id, member.member_epoch)
    world.topic.refuse_with = ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.clock.advance(1_000)
    world.settle()
    assert "n" in world.coordinator.consumer.describe("g").members, "not in one turn"
    world.turns()
    assert "n" in world.coordinator.consumer.describe("g").members, "not written"
    world.topic.refuse_with = None
    world.advance(TIMER_RETRY_MS)
    assert len(world.group().members) == _MEMBERS


def test_administrators_remove_the_last_consumer_in_slices(world: GroupWorld) -> None:
    ids = _large_group(world)
    removal = world.leave(("n", None), (ids[0], None), ("nobody", None))
    assert _answered(world, removal) == (ErrorCode.NONE, ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)
    assert sorted(world.group().members) == sorted(ids[1:])
