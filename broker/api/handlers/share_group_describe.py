"""ShareGroupDescribe (key 77), v1: share groups (KIP-932), their members and assignments.

UNSUPPORTED_VERSION without share groups. Each group has its own code: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, also for a
group of another type. Topics that are deleted are left out. A group that is named again is answered again, up to a
limit: INVALID_REQUEST.
"""

from __future__ import annotations

from functools import partial

from barnabas.broker.api.group_descriptions.modern_groups import describe_each, named_topics
from barnabas.broker.api.guards.authorized_operations import GROUP_OPERATIONS, NOT_REQUESTED
from barnabas.broker.coordinator.group.decisions.share.model import (
    SHARE_ASSIGNOR,
    SharedPartitions,
    ShareGroupMember,
)
from barnabas.broker.runtime.replies import Reply
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)

_UNDESCRIBED = partial(DescribedGroup, group_state="", group_epoch=0, assignment_epoch=0, assignor_name="", members=[])


def handle(request: ShareGroupDescribeRequest, context: RequestContext) -> Reply[ShareGroupDescribeResponse]:
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_REQUESTED
    return describe_each(
        request.group_ids,
        context,
        is_offered=context.services.offers_share_groups,
        describe=lambda group_id: _described(group_id, operations, context),
        undescribed=_UNDESCRIBED,
        respond=ShareGroupDescribeResponse,
    )


def _described(group_id: str, operations: int, context: RequestContext) -> DescribedGroup:
    group = context.services.groups.share.describe(group_id)
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=SHARE_ASSIGNOR,
        members=[_member(member, context) for member in group.members.values()],
        authorized_operations=operations,
    )


def _member(member: ShareGroupMember, context: RequestContext) -> Member:
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        assignment=_assignment(member.assigned, context),
    )


def _assignment(partitions: SharedPartitions, context: RequestContext) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=name, partitions=numbers)
            for topic_id, name, numbers in named_topics(partitions, context)
        ]
    )
