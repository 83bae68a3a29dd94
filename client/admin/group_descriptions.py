"""Descriptions of a group and its members, in one format for classic and for consumer groups. Pure."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.client.addresses import Address
from barnabas.client.consume.assignors import PROTOCOL_TYPE, assigned_partitions, subscribed_topics
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.messages import consumer_group_describe, describe_groups

CLASSIC, CONSUMER = "classic", "consumer"
_MEMBER_TYPES = {0: CLASSIC, 1: CONSUMER}


class ConsumerMember(NamedTuple):
    """The properties of members of consumer groups only. `target` is the member's target assignment.

    `type` is the protocol of this member, None if the broker is too old to return it.
    """

    epoch: int
    target: list[TopicPartition]
    regex: str | None
    type: str | None


class MemberDescription(NamedTuple):
    """A member. `topics` and `assignment` are None if its bytes are not those of a consumer."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    topics: list[str] | None
    assignment: list[TopicPartition] | None
    consumer: ConsumerMember | None = None


class GroupInfo(NamedTuple):
    """A group and its members. `protocol` is the assignor's name; it is empty unless a classic group is Stable.

    `type` is classic or consumer; only a consumer group has epochs: of the group, and of its target assignment.
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
    return GroupInfo(
        found.group_id,
        found.group_state,
        PROTOCOL_TYPE,
        found.assignor_name,
        coordinator,
        sorted((_read_consumer_member(each) for each in found.members), key=lambda member: member.member_id),
        CONSUMER,
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


def _partitions(assignment: consumer_group_describe.Assignment) -> list[TopicPartition]:
    return sorted((each.topic_name, number) for each in assignment.topic_partitions for number in each.partitions)
