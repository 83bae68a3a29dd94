"""ShareGroupDescribe (key 77), v1: share groups (KIP-932), their members and assignments.

UNSUPPORTED_VERSION without share groups. Each group has its own code: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, also for a
group of another type. Topics that are deleted are left out. A group that is named again is answered again, up to a
limit: INVALID_REQUEST.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.api.guards.authorized_operations import GROUP_OPERATIONS, NOT_REQUESTED
from barnabas.broker.api.repeated_ids import each_described
from barnabas.broker.coordinator.group.decisions.share.model import (
    SHARE_ASSIGNOR,
    SharedPartitions,
    ShareGroupMember,
)
from barnabas.broker.coordinator.runtime.replies_after_sync import once_synced
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from barnabas.protocol.registry import ApiKey, response_codec
from barnabas.storage.steps import Steps

_GROUPS = WorkClass()


def handle(
    request: ShareGroupDescribeRequest, context: RequestContext
) -> ShareGroupDescribeResponse | Future[ShareGroupDescribeResponse]:
    return reply_to(
        lambda: context.services.request_scheduler.in_slices(lambda: _all_described(request, context), _GROUPS),
        lambda response: once_synced(response, context.services.groups.unsynced()),
    )


def _all_described(request: ShareGroupDescribeRequest, context: RequestContext) -> Steps[ShareGroupDescribeResponse]:
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_REQUESTED
    codec = response_codec(ApiKey.SHARE_GROUP_DESCRIBE, context.api_version)
    groups = yield from each_described(
        request.group_ids,
        lambda group_id: _described(group_id, operations, context),
        lambda group: len(codec.encode(ShareGroupDescribeResponse(groups=[group]))),
        _failed,
    )
    return ShareGroupDescribeResponse(groups=groups)


def _described(group_id: str, operations: int, context: RequestContext) -> DescribedGroup:
    try:
        if not context.services.offers_share_groups:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        group = context.services.groups.share.describe(group_id)
    except KafkaError as error:
        return _failed(group_id, error)
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
    topics = context.services.catalogue.topics_by_id
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=topics[topic_id].name, partitions=list(numbers))
            for topic_id, numbers in partitions.items()
            if topic_id in topics
        ]
    )


def _failed(group_id: str, error: KafkaError) -> DescribedGroup:
    return DescribedGroup(
        error_code=error.code,
        error_message=error.message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )
