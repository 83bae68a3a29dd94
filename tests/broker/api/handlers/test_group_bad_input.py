"""What is wrong with a group's request is answered with Kafka's code, and nothing of the request is kept.

Nothing: no record, no group, no member, no timer, nobody parked. Each request is sent to a broker without groups and to
one with a stable group, whose member must not notice.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import pytest

from barnabas.broker.coordinator.group.decisions.classic.model import GroupConfig
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequestProtocol
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.protocol.registry import ApiKey, response_codec
from tests.support import requests
from tests.support.worlds.broker import code_of
from tests.support.worlds.group_api import GroupApi

E = ErrorCode
LONGEST_ID = "g" * 32_767
MEMBER = "m"  # stands for the id of the stable group's member
_NOBODY = "nobody"


class Bad(NamedTuple):
    """A request, the version it is sent with, the code it is answered with, and where in the answer that is."""

    request: Request
    version: int
    code: ErrorCode
    codes: Callable[[Any], list[int]]


def top(answer: Any) -> list[int]:
    return [answer.error_code]


def of_partitions(answer: Any) -> list[int]:
    return [partition.error_code for topic in answer.topics for partition in topic.partitions]


def of_members(answer: Any) -> list[int]:
    return [member.error_code for member in answer.members]


def join(code: ErrorCode, version: int = 9, **fields: Any) -> Bad:
    return Bad(requests.join_group(**{"metadata": b"m", **fields}), version, code, top)


def sync(code: ErrorCode, version: int = 5, member_id: str = MEMBER, generation: int = 1, **fields: Any) -> Bad:
    named: dict[str, Any] = {"group": "g", "protocol_type": "consumer", "protocol_name": "range", **fields}
    request = requests.sync_group(generation=generation, member_id=member_id, assignments={MEMBER: b"stolen"}, **named)
    return Bad(request, version, code, top)


def beat(code: ErrorCode, version: int = 4, **fields: Any) -> Bad:
    settings: dict[str, Any] = {"group_id": "g", "generation_id": 1, "member_id": MEMBER}
    return Bad(HeartbeatRequest(**(settings | fields)), version, code, top)


def leave(code: ErrorCode, *members: tuple[str, str | None], group_id: str = "g") -> Bad:
    leaving = [MemberIdentity(member_id=member_id, group_instance_id=instance) for member_id, instance in members]
    request = LeaveGroupRequest(group_id=group_id, members=leaving)
    return Bad(request, 5, code, of_members if group_id == "g" else top)


def commit(code: ErrorCode, version: int = 9, topic: str = "t", index: int = 0, text: str = "", **fields: Any) -> Bad:
    partition = OffsetCommitRequestPartition(
        partition_index=index, committed_offset=1, committed_leader_epoch=-1, committed_metadata=text
    )
    topics = [OffsetCommitRequestTopic(name=topic, topic_id=b"\x7f" * 16, partitions=[partition])]
    settings: dict[str, Any] = {"group_id": "g", "member_id": "", "topics": topics}
    return Bad(OffsetCommitRequest(**(settings | fields)), version, code, of_partitions)


def member_commit(code: ErrorCode, version: int = 9, **fields: Any) -> Bad:
    settings: dict[str, Any] = {"generation_id_or_member_epoch": 1, "member_id": MEMBER} | fields
    return commit(code, version, **settings)


def delete_offsets(code: ErrorCode, group_id: str = "g", topic: str = "t", index: int = 0) -> Bad:
    partitions = [OffsetDeleteRequestPartition(partition_index=index)]
    request = OffsetDeleteRequest(
        group_id=group_id, topics=[OffsetDeleteRequestTopic(name=topic, partitions=partitions)]
    )
    return Bad(request, 0, code, of_partitions if group_id == "g" else top)


def delete(code: ErrorCode, group_id: str) -> Bad:
    return Bad(DeleteGroupsRequest(groups_names=[group_id]), 2, code, lambda answer: [answer.results[0].error_code])


def describe(code: ErrorCode, group_id: str) -> Bad:
    return Bad(DescribeGroupsRequest(groups=[group_id]), 6, code, lambda answer: [answer.groups[0].error_code])


ANYWHERE = {
    "join without a group": join(E.INVALID_GROUP_ID, group=""),
    "join, session too short": join(E.INVALID_SESSION_TIMEOUT, session_timeout_ms=5_999),
    "join, session too long": join(E.INVALID_SESSION_TIMEOUT, session_timeout_ms=1_800_001),
    "join, session below zero": join(E.INVALID_SESSION_TIMEOUT, session_timeout_ms=-1),
    "join, session before version 4": join(E.INVALID_SESSION_TIMEOUT, version=3, session_timeout_ms=5_999),
    "join as nobody": join(E.UNKNOWN_MEMBER_ID, member_id=_NOBODY),
    "join as nobody's instance": join(E.UNKNOWN_MEMBER_ID, member_id=_NOBODY, group_instance_id="i"),
    "join without protocols": join(E.INCONSISTENT_GROUP_PROTOCOL, protocols=[]),
    "join without a protocol type": join(E.INCONSISTENT_GROUP_PROTOCOL, protocol_type=""),
    "sync without a group": sync(E.INVALID_GROUP_ID, group=""),
    "sync as nobody": sync(E.UNKNOWN_MEMBER_ID, member_id=_NOBODY),
    "heartbeat without a group": beat(E.INVALID_GROUP_ID, group_id=""),
    "heartbeat of nobody": beat(E.UNKNOWN_MEMBER_ID, member_id=_NOBODY),
    "leave without a group": leave(E.INVALID_GROUP_ID, (MEMBER, None), group_id=""),
    "leave as nobody": leave(E.UNKNOWN_MEMBER_ID, (_NOBODY, None)),
    "leave as nobody's instance": leave(E.UNKNOWN_MEMBER_ID, ("", "i"), ("", None)),
    "commit, no such topic": commit(E.UNKNOWN_TOPIC_OR_PARTITION, topic="nowhere"),
    "commit, no such topic id": commit(E.UNKNOWN_TOPIC_ID, version=10),
    "commit, no such partition": commit(E.UNKNOWN_TOPIC_OR_PARTITION, index=3),
    "commit, partition below zero": commit(E.UNKNOWN_TOPIC_OR_PARTITION, index=-1),
    "delete offsets without a group": delete_offsets(E.INVALID_GROUP_ID, group_id=""),
    "delete offsets of nobody": delete_offsets(E.GROUP_ID_NOT_FOUND, group_id=_NOBODY),
    "delete nobody": delete(E.GROUP_ID_NOT_FOUND, _NOBODY),
    "describe nobody": describe(E.GROUP_ID_NOT_FOUND, _NOBODY),
}
WITHOUT_GROUPS = {
    "commit, metadata too long": commit(E.OFFSET_METADATA_TOO_LARGE, text="x" * 4_097),
    "commit, metadata too long in UTF-16": commit(E.OFFSET_METADATA_TOO_LARGE, text="\U0001f600" * 2_049),
    "commit as a member": member_commit(E.GROUP_ID_NOT_FOUND),
    "commit as a member before version 9": member_commit(E.ILLEGAL_GENERATION, version=8),
    "sync in no group": sync(E.UNKNOWN_MEMBER_ID),
    "heartbeat in no group": beat(E.UNKNOWN_MEMBER_ID),
    "leave no group": leave(E.UNKNOWN_MEMBER_ID, (MEMBER, None)),
}
IN_A_STABLE_GROUP = {
    "join with no protocol in common": join(
        E.INCONSISTENT_GROUP_PROTOCOL, protocols=[JoinGroupRequestProtocol(name="other", metadata=b"")]
    ),
    "join with another type": join(E.INCONSISTENT_GROUP_PROTOCOL, protocol_type="connect"),
    "join as somebody's instance": join(E.UNKNOWN_MEMBER_ID, member_id=MEMBER, group_instance_id="i"),
    "sync, stale generation": sync(E.ILLEGAL_GENERATION, generation=0),
    "sync, generation to come": sync(E.ILLEGAL_GENERATION, generation=2),
    "sync with another protocol": sync(E.INCONSISTENT_GROUP_PROTOCOL, protocol_name="other"),
    "heartbeat, stale generation": beat(E.ILLEGAL_GENERATION, generation_id=0),
    "heartbeat as somebody's instance": beat(E.UNKNOWN_MEMBER_ID, group_instance_id="i"),
    "commit, stale generation": member_commit(E.ILLEGAL_GENERATION, generation_id_or_member_epoch=0),
    "commit, generation to come": member_commit(E.ILLEGAL_GENERATION, generation_id_or_member_epoch=2),
    "commit as nobody": member_commit(E.UNKNOWN_MEMBER_ID, member_id=_NOBODY),
    "commit as somebody's instance": member_commit(E.UNKNOWN_MEMBER_ID, group_instance_id="i"),
    "commit without being a member": commit(E.UNKNOWN_MEMBER_ID),
    "commit without a generation": commit(E.ILLEGAL_GENERATION, member_id=MEMBER),
    "delete offsets that are in use": delete_offsets(E.GROUP_SUBSCRIBED_TO_TOPIC),
    "delete offsets, no such topic": delete_offsets(E.UNKNOWN_TOPIC_OR_PARTITION, topic="nowhere"),
    "delete offsets, no such partition": delete_offsets(E.UNKNOWN_TOPIC_OR_PARTITION, index=3),
    "delete a group with members": delete(E.NON_EMPTY_GROUP, "g"),
}


def _kept(api: GroupApi) -> Any:
    """Everything a request could leave behind, in memory and in the log."""
    coordinator = api.world.coordinator
    groups = deepcopy(coordinator.groups())
    offsets = {group.group_id: deepcopy(coordinator.fetch_offsets(group.group_id)) for group in groups}
    parked = sum(partition.shard.parked() for partition in coordinator.loaded())
    return groups, offsets, parked, api.world.clock.pending_timers(), api.world.topic.batches_count


def _as_member(request: Request, member_id: str) -> Request:
    for holder in (request, *getattr(request, "members", ())):
        if getattr(holder, "member_id", None) == MEMBER:
            holder.member_id = member_id
    return request


@pytest.mark.parametrize("name", [*ANYWHERE, *WITHOUT_GROUPS])
def test_without_groups_it_is_refused_and_leaves_nothing(api: GroupApi, name: str) -> None:
    bad = (ANYWHERE | WITHOUT_GROUPS)[name]
    before = _kept(api)
    codes = bad.codes(api.ask(deepcopy(bad.request), bad.version))
    assert codes
    assert set(codes) == {bad.code}
    assert _kept(api) == before
    api.world.crash()
    assert api.world.coordinator.groups() == []


@pytest.mark.parametrize("name", [*ANYWHERE, *IN_A_STABLE_GROUP])
def test_beside_a_stable_group_it_is_refused_and_leaves_nothing(api: GroupApi, name: str) -> None:
    bad = (ANYWHERE | IN_A_STABLE_GROUP)[name]
    subscription = bytes.fromhex("0001 00000001 000174 ffffffff")
    (member_id,) = api.world.stable_group("a", protocols=(("range", subscription),))
    api.world.commit([("t", 0, 5)], member_id=member_id, generation_id=1)
    before = _kept(api)
    codes = bad.codes(api.ask(_as_member(deepcopy(bad.request), member_id), bad.version))
    assert codes
    assert set(codes) == {bad.code}
    assert _kept(api) == before
    assert api.world.heartbeat(member_id, 1) is E.NONE


@pytest.mark.parametrize("instance", [None, "i"])
@pytest.mark.parametrize("version", [3, 9])
def test_a_full_group_takes_nobody_in(instance: str | None, version: int) -> None:
    api = GroupApi(GroupConfig(max_size=1))
    api.world.stable_group("a")
    before = _kept(api)
    refused = api.ask(join(E.NONE, group_instance_id=instance if version >= 5 else None).request, version)
    assert (refused.error_code, refused.member_id) == (E.GROUP_MAX_SIZE_REACHED, "")
    assert _kept(api) == before
    api.close()


def test_a_group_id_longer_than_a_record_can_hold_is_refused_everywhere(api: GroupApi) -> None:
    """The wire cannot carry one; whoever calls the coordinator otherwise is told."""
    world, too_long = api.world, "\u00e9" * 16_384  # two bytes each
    before = _kept(api)
    for call in (
        lambda: world.join(too_long),
        lambda: world.sync("m", 1, group_id=too_long),
        lambda: world.heartbeat("m", 1, group_id=too_long),
        lambda: world.leave(("m", None), group_id=too_long),
        lambda: world.commit([("t", 0, 1)], group_id=too_long),
        lambda: world.coordinator.fetch_offsets(too_long),
        lambda: world.coordinator.delete_offsets(too_long, [("t", 0)]),
        lambda: world.coordinator.delete_group(too_long),
        lambda: world.coordinator.describe(too_long),
    ):
        assert code_of(call) is E.INVALID_GROUP_ID
    assert _kept(api) == before


def test_one_partition_with_too_much_metadata_does_not_hold_up_the_others(api: GroupApi) -> None:
    bad = commit(E.OFFSET_METADATA_TOO_LARGE, text="x" * 4_097)
    request = deepcopy(bad.request)
    assert isinstance(request, OffsetCommitRequest)
    request.topics[0].partitions.append(
        OffsetCommitRequestPartition(
            partition_index=1, committed_offset=2, committed_leader_epoch=-1, committed_metadata="x" * 4_096
        )
    )
    assert of_partitions(api.ask(request, 9)) == [E.OFFSET_METADATA_TOO_LARGE, E.NONE]
    assert api.world.committed() == {("t", 1): 2}


def test_the_longest_group_id_there_can_be_is_taken(api: GroupApi) -> None:
    accepted = commit(E.NONE, group_id=LONGEST_ID)
    assert of_partitions(api.ask(accepted.request, 9)) == [E.NONE]
    api.world.crash()
    assert api.world.committed(LONGEST_ID) == {("t", 0): 1}


@pytest.mark.parametrize("version", [0, 5, 6])
def test_a_refusal_to_describe_has_its_message_only_where_the_version_has_room_for_it(
    api: GroupApi, version: int
) -> None:
    answer = api.ask(DescribeGroupsRequest(groups=["g" * 1_000] * 400), version)
    refused = answer.groups[-1]
    assert refused.error_code == E.INVALID_REQUEST
    assert (refused.error_message is None) == (version < 6)
    assert response_codec(ApiKey.DESCRIBE_GROUPS, version).encode(answer)
