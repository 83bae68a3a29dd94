"""Descriptions of a group and its members, in one format for all types of groups. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from barnabas.client.addresses import Address
from barnabas.client.consume.assignors import PROTOCOL_TYPE, assigned_partitions, subscribed_topics
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.messages import (
    consumer_group_describe,
    describe_groups,
    share_group_describe,
    streams_group_describe,
)

CLASSIC, CONSUMER, SHARE, STREAMS = "classic", "consumer", "share", "streams"
_MEMBER_TYPES = {0: CLASSIC, 1: CONSUMER}


class ConsumerMember(NamedTuple):
    """The properties of members of consumer groups only. `target` is the member's target assignment.

    `type` is the protocol of this member, None if the broker is too old to return it.
    """

    epoch: int
    target: list[TopicPartition]
    regex: str | None
    type: str | None


Tasks = dict[str, list[int]]
"""The partitions of tasks, by subtopology."""


class ShareMemberDescription(NamedTuple):
    """The properties of members of share groups only."""

    epoch: int


class StreamsMemberDescription(NamedTuple):
    """The properties of members of streams groups only. Two members of one process have the same `process_id`."""

    epoch: int
    process_id: str
    active: Tasks
    standby: Tasks
    warmup: Tasks
    target: Tasks
    """The active tasks that the member will have."""


class MemberDescription(NamedTuple):
    """A member. `topics` and `assignment` are None if its bytes are not those of a consumer, and in streams groups."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    topics: list[str] | None
    assignment: list[TopicPartition] | None
    consumer: ConsumerMember | None = None
    share: ShareMemberDescription | None = None
    streams: StreamsMemberDescription | None = None


class GroupInfo(NamedTuple):
    """A group and its members. `protocol` is the assignor's name; it is empty unless a classic group is Stable.

    `type` is classic, consumer, share or streams; a classic group has no epochs: of the group, and of its target
    assignment.
    """

    group_id: str
    state: str
    protocol_type: str
    protocol: str
    coordinator: Address
    members: list[MemberDescription]
    type: str = CLASSIC
    group_epoch: int | None = None
    assignment_epoch: int | None = None


def read_classic_group(found: describe_groups.DescribedGroup, coordinator: Address) -> GroupInfo:
    """Return the group from a DescribeGroups response."""
    is_consumer = found.protocol_type == PROTOCOL_TYPE
    members = sorted(
        (_read_classic_member(each, is_consumer) for each in found.members), key=lambda member: member.member_id
    )
    return GroupInfo(found.group_id, found.group_state, found.protocol_type, found.protocol_data, coordinator, members)


def read_consumer_group(found: consumer_group_describe.DescribedGroup, coordinator: Address) -> GroupInfo:
    """Return the group from a ConsumerGroupDescribe response."""
    return _read_modern_group(found, PROTOCOL_TYPE, CONSUMER, map(_read_consumer_member, found.members), coordinator)


def read_share_group(found: share_group_describe.DescribedGroup, coordinator: Address) -> GroupInfo:
    """Return the group from a ShareGroupDescribe response."""
    return _read_modern_group(found, SHARE, SHARE, map(_read_share_member, found.members), coordinator)


def read_streams_group(found: streams_group_describe.DescribedGroup, coordinator: Address) -> GroupInfo:
    """Return the group from a StreamsGroupDescribe response."""
    return _read_modern_group(found, STREAMS, STREAMS, map(_read_streams_member, found.members), coordinator)


def _read_modern_group(
    found: Any, protocol_type: str, group_type: str, members: Iterable[MemberDescription], coordinator: Address
) -> GroupInfo:
    """Return the group from a response of one of the describing APIs, which have these fields in common."""
    return GroupInfo(
        found.group_id,
        found.group_state,
        protocol_type,
        found.assignor_name or "",
        coordinator,
        sorted(members, key=lambda member: member.member_id),
        group_type,
        found.group_epoch,
        found.assignment_epoch,
    )


def _read_classic_member(member: describe_groups.DescribedGroupMember, is_consumer: bool) -> MemberDescription:
    topics: list[str] | None = None
    assignment: list[TopicPartition] | None = None
    if is_consumer:
        try:
            topics = subscribed_topics(member.member_metadata) if member.member_metadata else []
            assignment = assigned_partitions(member.member_assignment)
        except DecodeError:
            topics = assignment = None
    return MemberDescription(
        member.member_id, member.group_instance_id, member.client_id, member.client_host, topics, assignment
    )


def _read_consumer_member(member: consumer_group_describe.Member) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        sorted(member.subscribed_topic_names),
        _partitions(member.assignment),
        ConsumerMember(
            member.member_epoch,
            _partitions(member.target_assignment),
            member.subscribed_topic_regex or None,
            _MEMBER_TYPES.get(member.member_type),
        ),
    )


def _read_share_member(member: share_group_describe.Member) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        None,
        member.client_id,
        member.client_host,
        sorted(member.subscribed_topic_names),
        _partitions(member.assignment),
        share=ShareMemberDescription(member.member_epoch),
    )


def _read_streams_member(member: streams_group_describe.Member) -> MemberDescription:
    assignment = member.assignment
    return MemberDescription(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        None,
        None,
        streams=StreamsMemberDescription(
            member.member_epoch,
            member.process_id,
            _tasks(assignment.active_tasks),
            _tasks(assignment.standby_tasks),
            _tasks(assignment.warmup_tasks),
            _tasks(member.target_assignment.active_tasks),
        ),
    )


def _tasks(tasks: Iterable[streams_group_describe.TaskIds]) -> Tasks:
    return {
        each.subtopology_id: sorted(each.partitions) for each in sorted(tasks, key=lambda task: task.subtopology_id)
    }


def _partitions(
    assignment: consumer_group_describe.Assignment | share_group_describe.Assignment,
) -> list[TopicPartition]:
    return sorted((each.topic_name, number) for each in assignment.topic_partitions for number in each.partitions)
