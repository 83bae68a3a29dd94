"""FindCoordinator, JoinGroup, SyncGroup, Heartbeat, LeaveGroup, in all their versions."""

from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.primitives import MAX_STRING_BYTES
from tests.support import requests
from tests.support.worlds.group_api import GroupApi

E = ErrorCode
_JOIN_VERSIONS = range(10)


def _join(member_id: str = "", **fields: Any) -> JoinGroupRequest:
    return requests.join_group("g", member_id, b"m", **fields)


def _sync(member_id: str, generation_id: int, version: int) -> SyncGroupRequest:
    named = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    return requests.sync_group("g", generation_id, member_id, {member_id: b"all"}, **named)


def _heartbeat(member_id: str, generation_id: int) -> HeartbeatRequest:
    return HeartbeatRequest(group_id="g", generation_id=generation_id, member_id=member_id)


def _joined(api: GroupApi, version: int = 9) -> Any:
    first = api.begin(_join(), version)
    if first.done() and first.result().error_code == E.MEMBER_ID_REQUIRED:
        first = api.begin(_join(first.result().member_id), version)
    api.world.advance(0)
    api.world.settle()
    return first.result()


@pytest.mark.parametrize("version", _JOIN_VERSIONS)
def test_a_member_lives_its_life_in_every_version(api: GroupApi, version: int) -> None:
    joined = _joined(api, version)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (E.NONE, 1, "range")
    assert joined.leader == joined.member_id
    assert joined.protocol_type == ("consumer" if version >= 7 else None)
    assert [(member.member_id, member.metadata) for member in joined.members] == [(joined.member_id, b"m")]
    others = min(version, 5)
    synced = api.ask(_sync(joined.member_id, 1, others), others)
    assert (synced.error_code, synced.assignment) == (E.NONE, b"all")
    assert (synced.protocol_type, synced.protocol_name) == (("consumer", "range") if others >= 5 else (None, None))
    assert api.ask(_heartbeat(joined.member_id, 1), min(version, 4)).error_code == E.NONE
    leaving = LeaveGroupRequest(group_id="g", member_id=joined.member_id)
    if others >= 3:
        leaving = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=joined.member_id)])
    left = api.ask(leaving, others)
    assert left.error_code == E.NONE
    assert [member.error_code for member in left.members] == ([E.NONE] if others >= 3 else [])
    assert api.ask(_heartbeat(joined.member_id, 1), min(version, 4)).error_code == E.UNKNOWN_MEMBER_ID


def test_a_static_member_stays_one_when_it_joins_again_without_saying_so(api: GroupApi) -> None:
    first = api.begin(_join(group_instance_id="i"), 9)
    api.world.advance(0)
    member_id = first.result().member_id
    api.ask(_sync(member_id, 1, 5), 5)
    api.begin(_join(member_id, protocols=[JoinGroupRequestProtocol(name="range", metadata=b"other")]), 4)
    api.world.advance(0)
    group = api.world.coordinator.describe("g")
    assert group is not None
    assert (group.generation_id, group.members[member_id].group_instance_id) == (2, "i")
    api.ask(LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=member_id)]), 5)
    again = api.begin(_join(group_instance_id="i"), 9)
    api.world.advance(0)
    api.world.settle()
    assert again.result().error_code == E.NONE


def test_a_member_is_named_after_its_client_and_known_by_its_address(api: GroupApi) -> None:
    member_id = api.ask(_join(), 9, client_id="who").member_id
    assert member_id.startswith("who-")
    api.begin(_join(member_id), 9, client_id="who")
    group = api.world.coordinator.describe("g")
    assert group is not None
    assert group.members[member_id].client_host == "/10.0.0.9"


def test_the_session_timeout_stands_in_for_the_rebalance_timeout_of_version_0(api: GroupApi) -> None:
    api.begin(_join(), 0)
    group = api.world.coordinator.describe("g")
    assert group is not None
    assert [member.rebalance_timeout_ms for member in group.members.values()] == [10_000]


def test_a_protocol_named_twice_counts_as_it_was_named_first(api: GroupApi) -> None:
    twice = [JoinGroupRequestProtocol(name="range", metadata=metadata) for metadata in (b"1", b"2")]
    api.begin(_join(protocols=twice), 3)
    api.world.advance(0)
    group = api.world.coordinator.describe("g")
    assert group is not None
    assert [member.protocols for member in group.members.values()] == [(("range", b"1"),)]


@pytest.mark.parametrize(("kind", "name"), [(None, "range"), ("consumer", None), ("other", "range"), ("consumer", "x")])
def test_from_version_5_on_a_sync_names_the_groups_protocol(api: GroupApi, kind: str | None, name: str | None) -> None:
    joined = _joined(api)
    request = _sync(joined.member_id, 1, 5)
    request.protocol_type, request.protocol_name = kind, name
    assert api.ask(request, 5).error_code == E.INCONSISTENT_GROUP_PROTOCOL


def test_a_request_that_waits_is_informed_when_the_broker_stops(api: GroupApi) -> None:
    joined = _joined(api)
    api.ask(_sync(joined.member_id, 1, 5), 5)
    newcomer = api.ask(_join(), 9).member_id
    waiting = api.begin(_join(newcomer), 9)
    assert not waiting.done()
    api.world.coordinator.close()
    api.world.settle()
    api.world.settle()
    assert (waiting.result().error_code, waiting.result().member_id) == (E.COORDINATOR_NOT_AVAILABLE, newcomer)


@pytest.mark.parametrize(
    ("key_type", "version"), [*((key_type, version) for key_type in (9, -1) for version in (1, 3, 4, 6)), (2, 5)]
)
def test_a_resource_without_a_coordinator_is_refused(api: GroupApi, key_type: int, version: int) -> None:
    if version >= 4:
        found = api.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x"]), version).coordinators[0]
        assert found.key == "x"
    else:
        found = api.ask(FindCoordinatorRequest(key="x", key_type=key_type), version)
    assert (found.error_code, found.node_id, found.host, found.port) == (E.INVALID_REQUEST, -1, "", -1)
    assert found.error_message


def test_a_group_of_an_endless_name_is_not_found_in_fewer_words(api: GroupApi) -> None:
    (group,) = api.ask(DescribeGroupsRequest(groups=["z" * MAX_STRING_BYTES]), 6).groups
    assert group.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert group.error_message.endswith("…")


@pytest.mark.parametrize("version", [4, 9])
def test_a_member_whose_name_fills_a_string_has_an_id_that_fits_one(api: GroupApi, version: int) -> None:
    name = "z" * MAX_STRING_BYTES
    assert api.ask(_join(), version, client_id=name).member_id.startswith("zzz")
    if version >= 5:
        joined = api.begin(_join(group_instance_id=name), version)
        api.world.advance(0)
        assert len(joined.result().member_id) < 300
