"""ConsumerGroupDescribe (key 69), v0-1: consumer groups (KIP-848), their members, current and target assignments.

Offered while the feature group.version is 1 and group.coordinator.rebalance.protocols has `consumer`, else
UNSUPPORTED_VERSION. Each group has its own code: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, also for a classic group. Topics
that are deleted are left out. Versions: 1 the type of each member. A group that is named again is answered again, up to
a limit: INVALID_REQUEST.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterable, Mapping

from barnabas.broker.api.guards.authorized_operations import GROUP_OPERATIONS, NOT_REQUESTED
from barnabas.broker.api.repeated_ids import each_described
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import NOTHING
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerGroupMember as GroupMember
from barnabas.broker.coordinator.runtime.replies_after_sync import once_synced
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from barnabas.protocol.registry import ApiKey, response_codec
from barnabas.storage.steps import Steps, finish

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1
_GROUPS = WorkClass()


def handle(
    request: ConsumerGroupDescribeRequest, context: RequestContext
) -> ConsumerGroupDescribeResponse | Future[ConsumerGroupDescribeResponse]:
    return reply_to(
        lambda: context.services.request_scheduler.in_slices(lambda: _all_described(request, context), _GROUPS),
        lambda response: once_synced(response, context.services.groups.unsynced()),
    )


def _all_described(
    request: ConsumerGroupDescribeRequest, context: RequestContext
) -> Steps[ConsumerGroupDescribeResponse]:
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_REQUESTED
    codec = response_codec(ApiKey.CONSUMER_GROUP_DESCRIBE, context.api_version)
    groups = yield from each_described(
        request.group_ids,
        lambda group_id: _described(group_id, operations, context),
        lambda group: len(codec.encode(ConsumerGroupDescribeResponse(groups=[group]))),
        _failed,
    )
    return ConsumerGroupDescribeResponse(groups=groups)


def _described(group_id: str, operations: int, context: RequestContext) -> DescribedGroup:
    groups = context.services.groups.consumer
    try:
        if not context.services.offers_consumer_groups:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        group = groups.describe(group_id)
    except KafkaError as error:
        return _failed(group_id, error)
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
