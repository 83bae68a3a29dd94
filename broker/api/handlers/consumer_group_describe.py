"""ConsumerGroupDescribe (key 69), v0-1: consumer groups (KIP-848), their members, current and target assignments.

Offered while the feature group.version is 1 and group.coordinator.rebalance.protocols has `consumer`, else
UNSUPPORTED_VERSION. Each group has its own code: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, also for a classic group. Topics
that are deleted are left out. Versions: 1 the type of each member. A group that is named again is answered again, up to
a limit: INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from barnabas.broker.api.group_descriptions.modern_groups import describe_each, named_topics
from barnabas.broker.api.guards.authorized_operations import GROUP_OPERATIONS, NOT_REQUESTED
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import NOTHING
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerGroupMember as GroupMember
from barnabas.broker.runtime.replies import Reply
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from barnabas.storage.steps import finish

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1

_UNDESCRIBED = partial(DescribedGroup, group_state="", group_epoch=0, assignment_epoch=0, assignor_name="", members=[])


def handle(request: ConsumerGroupDescribeRequest, context: RequestContext) -> Reply[ConsumerGroupDescribeResponse]:
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_REQUESTED
    return describe_each(
        request.group_ids,
        context,
        is_offered=context.services.offers_consumer_groups,
        describe=lambda group_id: _described(group_id, operations, context),
        undescribed=_UNDESCRIBED,
        respond=ConsumerGroupDescribeResponse,
    )


def _described(group_id: str, operations: int, context: RequestContext) -> DescribedGroup:
    groups = context.services.groups.consumer
    group = groups.describe(group_id)
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor() or groups.context.config_of(group_id).assignors[0],
        members=[_member(group, member, context) for member in finish(group.members_in_order())],
        authorized_operations=operations,
    )


def _member(group: ConsumerGroup, member: GroupMember, context: RequestContext) -> Member:
    has: dict[bytes, list[int]] = {}
    for owned in (member.assigned, member.pending_revocation):
        for topic_id, partitions in owned.items():
            has.setdefault(topic_id, []).extend(partitions)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(has, context),
        target_assignment=_assignment(group.targets.get(member.member_id, NOTHING), context),
        member_type=_CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
    )


def _assignment(partitions: Mapping[bytes, Iterable[int]], context: RequestContext) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=name, partitions=numbers)
            for topic_id, name, numbers in named_topics(partitions, context)
        ]
    )
