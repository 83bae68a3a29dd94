"""Share groups: heartbeats, their records, the states of their partitions, and requests of other protocols."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.coordinator.group.decisions.group_types import type_of
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.coordinator.group.decisions.share.model import ShareGroupConfig, ShareHeartbeatRequest
from barnabas.broker.partitions.share.persister import SharePartitionKey
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.worlds.group import GroupWorld

T = b"\1" * 16


@pytest.fixture
def world() -> Any:
    with GroupWorld() as world:
        world.topics.make("t", 2)
        yield world


def record_types(world: GroupWorld) -> list[int]:
    """Return the types of all records, with a minus for tombstones."""
    found = []
    for record in world.topic.records(world.coordinator.offsets_partition("g")):
        assert record.key is not None
        kind = int.from_bytes(record.key[:2], "big")
        found.append(kind if record.value is not None else -kind)
    return found


def result_of(world: GroupWorld, reply: Any) -> Any:
    world.answered(reply)
    world.turns()
    return reply.result() if isinstance(reply, asyncio.Future) else reply


def refusal_of(call: Callable[[], Any]) -> KafkaError:
    with pytest.raises(KafkaError) as refused:
        call()
    return refused.value


def test_a_new_group_gets_its_partitions_with_the_heartbeat_after_the_join(world: GroupWorld) -> None:
    joined = world.share_beat("m")
    assert (joined.member_epoch, joined.heartbeat_interval_ms, joined.assignment) == (2, 5_000, {})
    assert world.persister.states == {SharePartitionKey("g", T, number): (2, -1) for number in range(2)}
    assert record_types(world) == [10, 11, 13, 12, 14, 15, 15], "as Kafka writes them"
    world.advance(5_000)
    assert world.share_beat("m", 2) == (joined.member_id, 3, 5_000, {T: (0, 1)})
    assert record_types(world)[7:] == [11, 13, 12, 14]
    assert world.share_beat("m", 3).assignment is None
    assert len(record_types(world)) == 11, "a quiet heartbeat writes nothing"


def test_a_group_whose_partitions_have_states_assigns_at_once(world: GroupWorld) -> None:
    joined(world, "m")
    world.share_beat("m", -1)
    assert world.share_beat("n").assignment == {T: (0, 1)}


def joined(world: GroupWorld, member_id: str, **joining: Any) -> int:
    """Join, and return the epoch with the assignment."""
    epoch: int = world.share_beat(member_id, **joining).member_epoch
    world.advance(5_000)
    return int(world.share_beat(member_id, epoch).member_epoch)


def test_the_last_member_that_leaves_empties_the_group(world: GroupWorld) -> None:
    epoch = joined(world, "m")
    assert epoch == 3
    before = len(record_types(world))
    assert world.share_beat("m", -1).member_epoch == -1
    assert record_types(world)[before:] == [-14, -13, -10, 11, 12]
    group = world.coordinator.share.describe("g")
    assert (group.state.value, group.group_epoch, group.assignment_epoch, group.metadata_hash) == ("Empty", 4, 4, 0)
    refused = refusal_of(lambda: world.share_beat("m", -1))
    assert (refused.code, refused.message) == (ErrorCode.UNKNOWN_MEMBER_ID, "Member m is not a member of group g.")


def test_a_member_that_joins_soon_after_an_assignment_waits_for_the_interval(world: GroupWorld) -> None:
    joined(world, "m")
    assert world.share_beat("n").member_epoch == 3, "the epoch of the last assignment"
    world.advance(1_000)
    world.share_beat("m", 3)
    assert world.share_beat("n", 3).assignment == {T: (1,)}


def test_a_session_ends_and_survives_a_crash(world: GroupWorld) -> None:
    joined(world, "m")
    before = world.coordinator.share.describe("g")
    world.crash()
    world.coordinator.load_in_background([0])
    world.turns()
    assert world.coordinator.share.describe("g") == before, "replay builds what was there"
    world.advance(44_999)
    assert "m" in world.coordinator.share.describe("g").members
    world.advance(1)
    assert not world.coordinator.share.describe("g").members


def test_new_partitions_get_states_and_readers(world: GroupWorld) -> None:
    epoch = joined(world, "m")
    world.topics.make("t", 3)
    epoch = world.share_beat("m", epoch).member_epoch
    world.advance(5_000)
    assert world.share_beat("m", epoch).assignment == {T: (0, 1, 2)}


def test_states_that_cannot_be_stored_are_begun_again(world: GroupWorld) -> None:
    world.persister.refusal = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    epoch = world.share_beat("m").member_epoch
    assert not world.coordinator.share.describe("g").states.initializing
    world.persister.refusal = None
    world.share_beat("m", epoch)
    world.advance(5_000)
    assert world.share_beat("m", epoch).assignment == {T: (0, 1)}


def test_the_states_of_a_deleted_topic_are_forgotten(world: GroupWorld) -> None:
    epoch = joined(world, "m")
    world.topics.delete("t")
    world.coordinator.on_topic_deleted("t")
    world.turns()
    group = world.coordinator.share.describe("g")
    assert not group.states.initialized
    world.topics.make("t", 1)
    epoch = world.share_beat("m", epoch).member_epoch
    world.advance(5_000)
    assert list(world.share_beat("m", epoch).assignment) == [b"\2" * 16]


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (ShareHeartbeatRequest("", "m", 0, topic_names=("t",)), "GroupId can't be empty."),
        (ShareHeartbeatRequest("g", "", 0, topic_names=("t",)), None),
        (ShareHeartbeatRequest("g", "m" * 37, 0, topic_names=("t",)), None),
        (ShareHeartbeatRequest("g", "m", 0, rack_id="", topic_names=("t",)), "RackId can't be empty."),
        (ShareHeartbeatRequest("g", "m", 0), "SubscribedTopicNames must be set in first request."),
        (ShareHeartbeatRequest("g", "m", 0, topic_names=()), "SubscribedTopicNames must be set in first request."),
        (ShareHeartbeatRequest("g", "m", -2), "MemberEpoch is invalid."),
    ],
)
def test_bad_heartbeats_are_refused(world: GroupWorld, request_: ShareHeartbeatRequest, why: str | None) -> None:
    refused = refusal_of(lambda: world.coordinator.share.heartbeat(request_))
    assert refused.code is ErrorCode.INVALID_REQUEST
    assert why is None or refused.message == why


def test_wrong_epochs_and_ids_are_refused(world: GroupWorld) -> None:
    missing = refusal_of(lambda: world.share_beat("m", 1))
    assert (missing.code, missing.message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Share group g not found.")
    joined(world, "m")
    assert refusal_of(lambda: world.share_beat("n", 1)).code is ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal_of(lambda: world.share_beat("m", 4)).code is ErrorCode.FENCED_MEMBER_EPOCH
    assert refusal_of(lambda: world.share_beat("m", 1)).code is ErrorCode.FENCED_MEMBER_EPOCH
    assert world.share_beat("m", 2).member_epoch == 3, "the reply with the new epoch may have been lost"
    world.share_config = ShareGroupConfig(max_size=1)
    full = refusal_of(lambda: world.share_beat("n"))
    assert full.code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert full.message == "The share group has reached its maximum capacity of 1 members."


def test_requests_of_other_protocols_are_refused(world: GroupWorld) -> None:
    world.share_beat("m")
    assert result_of(world, world.join()).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert result_of(world, world.sync("m", 1)).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("m", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert result_of(world, world.leave(("m", None))) == (ErrorCode.UNKNOWN_MEMBER_ID,)
    assert result_of(world, world.commit([("t", 0, 1)])) == (ErrorCode.GROUP_ID_NOT_FOUND,)
    assert refusal_of(lambda: world.coordinator.delete_offsets("g", [("t", 0)])).code is ErrorCode.GROUP_ID_NOT_FOUND
    assert not world.coordinator.fetch_offsets("g").offsets
    assert refusal_of(lambda: world.beat("m")).message == "Group g is not a consumer group."
    assert refusal_of(lambda: world.coordinator.describe("g")).message == "Group g is not a classic group."
    assert refusal_of(lambda: world.coordinator.consumer.describe("g")).code is ErrorCode.GROUP_ID_NOT_FOUND
    (group,) = world.coordinator.groups()
    assert (type_of(group), group.protocol_type, group.state.value) == ("share", "share", "Stable")


def test_groups_of_other_types_are_no_share_groups(world: GroupWorld) -> None:
    result_of(world, world.beat("m"))
    refused = refusal_of(lambda: world.share_beat("s"))
    assert (refused.code, refused.message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a share group.")
    assert refusal_of(lambda: world.coordinator.share.describe("x")).message == "Group x not found."


def test_an_empty_group_is_deleted_with_its_states(world: GroupWorld) -> None:
    joined(world, "m")
    assert result_of(world, world.coordinator.delete_group("g")) is ErrorCode.NON_EMPTY_GROUP
    world.share_beat("m", -1)
    assert result_of(world, world.coordinator.delete_group("g")) is ErrorCode.NONE
    assert not world.persister.states
    assert result_of(world, world.coordinator.delete_group("g")) is ErrorCode.GROUP_ID_NOT_FOUND
    assert not world.coordinator.groups()


def test_a_group_whose_states_cannot_be_deleted_stays(world: GroupWorld) -> None:
    joined(world, "m")
    world.share_beat("m", -1)
    world.persister.refusal = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert result_of(world, world.coordinator.delete_group("g")) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.coordinator.share.describe("g").states.deleting == {T: "t"}
    world.persister.refusal = None
    assert result_of(world, world.coordinator.delete_group("g")) is ErrorCode.NONE
    assert not world.persister.states


def test_an_empty_group_does_not_expire(world: GroupWorld) -> None:
    joined(world, "m")
    world.share_beat("m", -1)
    world.advance(8 * 24 * 3_600_000)
    assert isinstance(world.coordinator.share.describe("g"), ShareGroup)


def test_offsets_of_an_empty_group_are_altered_and_deleted(world: GroupWorld) -> None:
    share = world.coordinator.share
    assert result_of(world, share.alter("g", {(T, 1): 5})) == {}
    assert world.persister.states == {SharePartitionKey("g", T, 1): (1, 5)}, "the group was created"
    assert share.initialized("g")[T].partitions == {1}
    assert share.initialized("unknown") == {}
    refused = result_of(world, share.delete_offsets("g", [T, rb"\9" * 16]))
    assert {topic_id: each.code for topic_id, each in refused.items()} == {
        rb"\9" * 16: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }
    assert not world.persister.states
    world.share_beat("m")
    for altering in (lambda: share.alter("g", {(T, 1): 5}), lambda: share.delete_offsets("g", [T])):
        assert refusal_of(altering).code is ErrorCode.NON_EMPTY_GROUP
