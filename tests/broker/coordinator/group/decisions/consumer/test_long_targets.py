"""Targets that take longer than a turn of the event loop: computed in slices, for the group as it is in the end."""

from asyncio import Future
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerConfig, HeartbeatReply
from barnabas.broker.coordinator.runtime.shard import TIMER_BEHIND_MS
from barnabas.client.consume.assignors import encode_assignment, encode_subscription
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.worlds.broker import code_of
from tests.support.worlds.group import GroupWorld, reply_of

_MANY = 4_000
"""Partitions: to hand them out takes more steps than a turn of the loop has."""
_CLASSIC = (("range", encode_subscription(["t"])),)


@pytest.fixture
def world() -> Iterator[GroupWorld]:
    config = ConsumerConfig(assignment_interval_ms=0, session_timeout_ms=45_000)
    with GroupWorld(consumer_config=config) as world:
        world.topics.make("t", _MANY)
        world.topics.make("small", 2)
        yield world


def _computing(world: GroupWorld) -> Future[HeartbeatReply]:
    """b joins a, and the new target takes its time."""
    first = world.beat("a")
    world.answered(first)
    assert reply_of(first).member_epoch == 2
    second = world.beat("b")
    assert isinstance(second, Future)
    assert not second.done()
    return second


def _classic_group(world: GroupWorld, size: int) -> list[str]:
    """The ids of the members of a group of the classic protocol; nobody has a partition yet."""
    ids = [world.join(protocols=_CLASSIC).member_id for _ in range(size)]
    joins = [world.join(member_id=member_id, protocols=_CLASSIC) for member_id in ids]
    world.advance(0)
    leader = joins[0].result().leader_id
    nothing = encode_assignment([])
    for member_id in (leader, *(each for each in ids if each != leader)):
        told = [(each, nothing) for each in ids] if member_id == leader else []
        assert reply_of(world.sync(member_id, 1, told)).error is ErrorCode.NONE
    return ids


def _group(world: GroupWorld) -> ConsumerGroup:
    return world.coordinator.consumer.describe("g")


def _is_shared_out(group: ConsumerGroup, partitions: int = _MANY) -> bool:
    """Whether each partition is in the target of one member, and there are targets of members alone."""
    numbers = [number for target in group.targets.values() for of in target.values() for number in of]
    return sorted(numbers) == list(range(partitions)) and group.targets.keys() <= group.members.keys()


def test_the_heartbeat_that_needs_a_new_target_is_answered_with_it(world: GroupWorld) -> None:
    first = world.beat("a")
    assert not first.done()
    world.settle()
    assert not first.done(), "one turn is not enough"
    world.answered(first)
    reply: HeartbeatReply = first.result()
    assert reply.member_epoch == 2
    assert reply.assignment is not None
    assert {len(numbers) for numbers in reply.assignment.values()} == {_MANY}


def test_a_small_target_is_there_at_once(world: GroupWorld) -> None:
    reply: HeartbeatReply = world.beat("a", topics=("small",))
    assert reply.assignment is not None
    assert [*map(len, reply.assignment.values())] == [2]


def test_a_member_of_very_many_topics_is_given_all_of_them(world: GroupWorld) -> None:
    """Its records are large enough to be encoded and replayed in steps."""
    names = tuple(f"m{number}" for number in range(2_000))
    for number, name in enumerate(names):
        world.topics.make(name, 1, topic_id=(1 << 40 | number).to_bytes(16, "big"))
    joining = world.beat("a", topics=names)
    world.answered(joining)
    assert len(reply_of(joining).assignment) == len(names)
    assert _group(world).members["a"].assigned.keys() == {world.topics.ids[name] for name in names}


def test_nothing_of_a_heartbeat_is_written_before_its_target(world: GroupWorld) -> None:
    computing = _computing(world)
    batches_count = world.topic.batches_count
    assert list(_group(world).members) == ["a"]
    world.answered(computing)
    assert world.topic.batches_count == batches_count + 1, "one batch for the heartbeat and all targets"


def test_members_of_the_group_wait_for_their_turn(world: GroupWorld) -> None:
    replies = [_computing(world), world.beat("c"), world.beat("a", -1)]
    world.answered(*replies)
    assert [reply.result().member_epoch for reply in replies] == [3, 4, -1]
    assert list(_group(world).members) == ["b", "c"]


def test_other_groups_do_not_wait(world: GroupWorld) -> None:
    computing = _computing(world)
    reply: HeartbeatReply = world.beat("a", group_id="other", topics=("small",))
    assert reply.member_epoch == 2
    assert not computing.done()


def test_a_session_that_ends_meanwhile_ends_after_the_decision(world: GroupWorld) -> None:
    computing = _computing(world)
    world.clock.advance(45_000)
    assert list(_group(world).members) == ["a"]
    world.answered(computing)
    assert list(_group(world).members) == ["a", "b"]
    world.advance(TIMER_BEHIND_MS)
    assert list(_group(world).members) == ["b"]


def test_a_member_with_a_queued_heartbeat_stays_in_the_group(world: GroupWorld) -> None:
    world.answered(world.beat("a", topics=("small",)))
    world.clock.advance(40_000)
    computing = world.beat("b")
    beat = world.beat("a", 2)
    world.clock.advance(6_000)
    world.answered(computing, beat)
    world.advance(TIMER_BEHIND_MS)
    assert reply_of(beat).member_id == "a"
    assert list(_group(world).members) == ["a", "b"]


def test_short_decisions_in_line_are_made_in_a_turn(world: GroupWorld) -> None:
    world.answered(world.beat("a", topics=("small",)))
    computing = world.beat("b")
    beats: list[Any] = [world.beat("a", 2) for _ in range(200)]
    world.answered(computing)
    for _ in range(5):
        world.settle()
    assert all(beat.done() for beat in beats)


def test_an_administrator_removes_whom_there_is_when_those_before_are_let_in(world: GroupWorld) -> None:
    computing = _computing(world)
    removal = world.leave(("a", None), ("b", None))
    assert isinstance(removal, Future)
    world.answered(computing, removal)
    assert computing.result().member_epoch == 3
    assert removal.result() == (ErrorCode.NONE, ErrorCode.NONE)
    assert not _group(world).members


def test_a_commit_in_line_is_held_to_the_epoch_that_those_before_it_gave(world: GroupWorld) -> None:
    first = world.beat("a")
    commit = world.commit([("t", 0, 7)], member_id="a", generation_id=1)
    assert isinstance(commit, Future)
    world.answered(first, commit)
    assert commit.result() == (ErrorCode.STALE_MEMBER_EPOCH,)


def test_a_group_is_deleted_when_those_before_have_joined_it_and_so_it_is_not(world: GroupWorld) -> None:
    first = world.beat("a")
    deletion = world.coordinator.delete_group("g")
    assert isinstance(deletion, Future)
    world.answered(first, deletion)
    assert deletion.result() is ErrorCode.NON_EMPTY_GROUP


def test_a_topic_that_is_deleted_meanwhile_is_in_no_target(world: GroupWorld) -> None:
    first = world.beat("a", topics=("t", "small"))
    world.settle()
    deleted = world.topics.ids["t"]
    world.topics.delete("t")
    world.answered(first)
    assert first.result().member_epoch == 2
    assert _group(world).targets == {"a": {world.topics.ids["small"]: (0, 1)}}
    assert deleted not in first.result().assignment


def test_partitions_that_are_new_meanwhile_are_in_the_next_target(world: GroupWorld) -> None:
    computing = _computing(world)
    world.topics.make("t", _MANY + 5)
    world.answered(computing)
    assert computing.result().member_epoch == 3
    assert _is_shared_out(_group(world), _MANY)
    later = world.beat("b", 3)
    world.answered(later)
    assert reply_of(later).member_epoch == 4
    assert _is_shared_out(_group(world), _MANY + 5)


def test_a_crash_in_the_middle_leaves_the_group_as_it_was(world: GroupWorld) -> None:
    _computing(world)
    before = _group(world)
    world.crash()
    assert _group(world) == before
    again = world.beat("b")
    world.answered(again)
    assert reply_of(again).member_epoch == 3
    assert _is_shared_out(_group(world))


def test_a_stop_answers_all_waiters(world: GroupWorld) -> None:
    computing, waiting = _computing(world), world.beat("c")
    world.coordinator.close()
    world.answered(computing, waiting)
    for each in (computing, waiting):
        assert code_of(each.result) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_refused_heartbeat_does_not_hold_up_the_next(world: GroupWorld) -> None:
    world.consumer_config = replace(world.consumer_config, max_size=2)
    computing, refused, last = _computing(world), world.beat("c"), world.beat("a", -1)
    world.answered(computing, refused, last)
    assert computing.result().member_epoch == 3
    assert isinstance(refused.exception(), KafkaError)
    assert last.result().member_epoch == -1


def test_a_client_that_is_gone_does_not_hold_up_the_next(world: GroupWorld) -> None:
    computing, waiting, last = _computing(world), world.beat("c"), world.beat("d")
    computing.cancel()
    waiting.cancel()
    world.answered(last)
    assert last.result().member_epoch == 5
    assert list(_group(world).members) == ["a", "b", "c", "d"], "what was asked for is done, whoever hears of it"


def test_a_classic_member_stands_in_line_as_well(world: GroupWorld) -> None:
    replies = [_computing(world), world.join(member_id="c", protocols=_CLASSIC, version=3)]
    assert isinstance(replies[1], Future)
    world.answered(*replies)
    assert [replies[0].result().member_epoch, replies[1].result().generation_id] == [3, 4]
    assert list(_group(world).members) == ["a", "b", "c"]
    assert _is_shared_out(_group(world))


def test_a_member_that_leaves_behind_its_own_join_is_gone(world: GroupWorld) -> None:
    """Its client gave up on the JoinGroup, and said goodbye on another connection."""
    computing, join = _computing(world), world.join(member_id="c", protocols=_CLASSIC, version=3)
    goodbye = world.leave(("c", None))
    assert isinstance(goodbye, Future)
    world.answered(computing, join, goodbye)
    assert join.result().error is ErrorCode.NONE
    assert goodbye.result() == (ErrorCode.NONE,)
    assert list(_group(world).members) == ["a", "b"]


def test_a_member_that_leaves_meanwhile_leaves_the_upgraded_group(world: GroupWorld) -> None:
    first, second = _classic_group(world, 2)
    upgrade, goodbye = world.beat("new"), world.leave((second, None))
    assert isinstance(goodbye, Future)
    world.answered(upgrade, goodbye)
    assert goodbye.result() == (ErrorCode.NONE,)
    assert list(_group(world).members) == [first, "new"]


def test_a_member_id_that_no_record_can_carry_is_refused(world: GroupWorld) -> None:
    assert code_of(lambda: world.beat("m" * 40_000, topics=("small",))) is ErrorCode.UNKNOWN_SERVER_ERROR
