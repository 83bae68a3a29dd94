"""ConsumerGroupHeartbeat and ConsumerGroupDescribe, and what other APIs say of consumer groups."""

from typing import Any

import pytest

from barnabas.broker.api.group_descriptions import repeated_ids
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from tests.support.worlds.group_api import GroupApi

E = ErrorCode
_VERSIONS = (0, 1)


def beat(api: GroupApi, member_id: str = "m", epoch: int = 0, version: int = 1, **fields: Any) -> Any:
    if epoch == 0:
        fields = {"rebalance_timeout_ms": 1_000, "subscribed_topic_names": ["t"], "topic_partitions": [], **fields}
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch, **fields)
    return api.ask(request, version)


def assigned(answer: Any) -> list[tuple[bytes, list[int]]]:
    return [(each.topic_id, each.partitions) for each in answer.assignment.topic_partitions]


@pytest.mark.parametrize("version", _VERSIONS)
def test_a_member_gets_the_topics_partitions(api: GroupApi, version: int) -> None:
    answer = beat(api, version=version)
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (E.NONE, "m", 2)
    assert answer.heartbeat_interval_ms == 5_000
    assert assigned(answer) == [(api.topic_id("t"), [0, 1, 2])]
    again = beat(api, epoch=2, version=version)
    assert (again.error_code, again.member_epoch, again.assignment) == (E.NONE, 2, None)


def test_a_full_heartbeat_is_answered_in_full(api: GroupApi) -> None:
    beat(api)
    owned = [TopicPartitions(topic_id=api.topic_id("t"), partitions=[0])]
    answer = beat(api, epoch=2, rebalance_timeout_ms=1_000, subscribed_topic_names=["t"], topic_partitions=owned)
    assert assigned(answer) == [(api.topic_id("t"), [0, 1, 2])]


def test_the_coordinator_chooses_an_id_for_a_member_of_v0(api: GroupApi) -> None:
    answer = beat(api, member_id="", version=0)
    assert answer.member_id == "00000000-0000-4000-8000-000000000001"
    refused = beat(api, member_id="", version=1)
    assert (refused.error_code, refused.error_message) == (E.INVALID_REQUEST, "MemberId can't be empty.")


def test_a_refusal_has_kafkas_sentence(api: GroupApi) -> None:
    beat(api)
    answer = beat(api, epoch=7)
    assert answer.error_code == E.FENCED_MEMBER_EPOCH
    assert answer.error_message == (
        "The consumer group member has a greater member epoch (7) than the one known by the group coordinator (2). "
        "The member must abandon all its partitions and rejoin."
    )


@pytest.mark.parametrize("version", _VERSIONS)
def test_a_group_is_described(api: GroupApi, version: int) -> None:
    beat(api, instance_id="i", rack_id="r")
    request = ConsumerGroupDescribeRequest(group_ids=["g", "nobody"], include_authorized_operations=True)
    group, nobody = api.ask(request, version).groups
    assert (nobody.error_code, nobody.error_message) == (E.GROUP_ID_NOT_FOUND, "Group nobody not found.")
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", 2, 2)
    assert (group.assignor_name, group.authorized_operations) == ("uniform", 3400)
    (member,) = group.members
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("m", "i", "r", 2)
    assert (member.client_id, member.client_host, member.subscribed_topic_names) == ("c", "/10.0.0.9", ["t"])
    for assignment in (member.assignment, member.target_assignment):
        (topic,) = assignment.topic_partitions
        assert (topic.topic_id, topic.topic_name, topic.partitions) == (api.topic_id("t"), "t", [0, 1, 2])
    assert member.member_type == (1 if version else -1)


@pytest.mark.pure
def test_a_group_that_is_named_a_thousand_times_is_looked_at_once(
    api: GroupApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat(api)
    groups = api.world.coordinator.consumer
    looked_at: list[str] = []
    describe = groups.describe

    def looked(group_id: str) -> ConsumerGroup:
        looked_at.append(group_id)
        return describe(group_id)

    monkeypatch.setattr(groups, "describe", looked)
    request = ConsumerGroupDescribeRequest(group_ids=["g", "nobody"] * 1_000, include_authorized_operations=False)
    answers = api.ask(request, 1).groups
    assert looked_at == ["g", "nobody"]
    assert [each.group_id for each in answers] == request.group_ids
    assert answers[0] == answers[-2]


@pytest.mark.parametrize("kind", ["consumer", "classic"])
def test_the_copies_of_an_answer_are_bounded_in_bytes(
    api: GroupApi, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    beat(api)
    monkeypatch.setattr(repeated_ids, "COPIES_BYTES_MAX", 1_000)
    asked = ["g"] * 100 + ["nobody"]
    if kind == "consumer":
        *copies, other = api.ask(
            ConsumerGroupDescribeRequest(group_ids=asked, include_authorized_operations=False), 1
        ).groups
    else:
        *copies, other = api.ask(DescribeGroupsRequest(groups=asked, include_authorized_operations=False), 6).groups
    codes = [each.error_code for each in copies]
    refused = codes.count(E.INVALID_REQUEST)
    assert 80 <= refused < 99
    assert set(codes[:-refused]) == {E.NONE if kind == "consumer" else E.GROUP_ID_NOT_FOUND}
    assert other.error_code == E.GROUP_ID_NOT_FOUND


def test_it_is_listed_with_its_type_and_state(api: GroupApi) -> None:
    beat(api)
    for types, found in ((["Consumer"], ["g"]), (["classic"], []), ([], ["g"])):
        listed = api.ask(ListGroupsRequest(states_filter=["stable"], types_filter=types), 5).groups
        assert [each.group_id for each in listed] == found
        assert all((each.group_type, each.protocol_type) == ("consumer", "consumer") for each in listed)
