"""ShareGroupDescribe and DescribeShareGroupOffsets: a group with a member, and what is refused or unknown."""

from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import describe_share_group_offsets as offsets
from barnabas.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.support.worlds.broker import BrokerWorld, settle
from tests.support.worlds.share_states import answer_of, enable_share_groups, share_world


def joining() -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=["t"])


def describing(*group_ids: str) -> ShareGroupDescribeRequest:
    return ShareGroupDescribeRequest(group_ids=list(group_ids), include_authorized_operations=False)


def describing_offsets(topics: dict[str, list[int]] | None, group_id: str = "g") -> Any:
    named = (
        topics
        if topics is None
        else [
            offsets.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=numbers)
            for name, numbers in topics.items()
        ]
    )
    group = offsets.DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=named)
    return offsets.DescribeShareGroupOffsetsRequest(groups=[group])


async def _offsets(world: BrokerWorld, topics: dict[str, list[int]] | None, group_id: str = "g") -> Any:
    (group,) = (await answer_of(world.services, describing_offsets(topics, group_id))).groups
    return group


async def test_a_group_is_described_with_its_member() -> None:
    world = share_world()
    assert (await answer_of(world.services, joining())).member_epoch == 2
    (group,) = (await answer_of(world.services, describing("g"))).groups
    assert (group.group_state, group.group_epoch, group.assignor_name) == ("Stable", 2, "simple")
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.subscribed_topic_names) == ("m", 2, ["t"])
    assert member.assignment.topic_partitions == []


async def test_an_unknown_group_and_an_empty_id_have_their_codes() -> None:
    world = share_world()
    codes = [each.error_code for each in (await answer_of(world.services, describing("x", ""))).groups]
    assert codes == [ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.INVALID_GROUP_ID]


async def test_a_begun_partition_has_no_start_offset_before_its_first_fetch() -> None:
    world = share_world()
    await answer_of(world.services, joining())
    await settle()
    group = await _offsets(world, None)
    assert [(topic.topic_name, len(topic.partitions)) for topic in group.topics] == [("t", 2)]
    assert {(each.start_offset, each.lag, each.error_code) for each in group.topics[0].partitions} == {(-1, -1, 0)}


@pytest.mark.parametrize(("name", "partition", "group_id"), [("t", 0, "x"), ("t", 9, "g"), ("missing", 0, "g")])
async def test_what_a_group_has_not_begun_is_unknown_without_an_error(name: str, partition: int, group_id: str) -> None:
    world = share_world()
    group = await _offsets(world, {name: [partition]}, group_id)
    (found,) = group.topics[0].partitions
    assert (group.error_code, found.start_offset, found.lag, found.error_code) == (0, -1, -1, 0)


async def test_without_share_groups_both_are_unsupported() -> None:
    world = BrokerWorld(topics={"t": 2})
    enable_share_groups(world.services.catalogue, 0)
    (group,) = (await answer_of(world.services, describing("g"))).groups
    assert group.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert (await _offsets(world, None)).error_code == ErrorCode.UNSUPPORTED_VERSION
