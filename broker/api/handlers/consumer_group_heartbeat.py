# compiled: mypyc
"""ConsumerGroupHeartbeat (key 68), v0-1: join, stay in and leave a group of the consumer protocol (KIP-848).

Offered while the feature group.version is 1 and group.coordinator.rebalance.protocols has `consumer`, else
UNSUPPORTED_VERSION. Answers the member's epoch, and its assignment if that changed or was requested. Refusals have
Kafka's messages: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, INVALID_REGULAR_EXPRESSION, GROUP_ID_NOT_FOUND,
GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID. The decision
is in coordinator/group/decisions/consumer. Versions: 1 regular expressions; the client chooses its member id.
"""

from __future__ import annotations

from asyncio import Future
from typing import Final

from barnabas.broker.coordinator.group.decisions.consumer.model import HeartbeatReply, HeartbeatRequest
from barnabas.broker.coordinator.group.decisions.consumer.reconciliation import claimed
from barnabas.broker.coordinator.group.decisions.shared_texts import shared
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_CLIENT_CHOOSES_ID_SINCE = 1
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


def handle(
    request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> ConsumerGroupHeartbeatResponse | Future[ConsumerGroupHeartbeatResponse]:
    return reply_to(lambda: _heartbeat(request, context), _response, _refused)


def _heartbeat(request: ConsumerGroupHeartbeatRequest, context: RequestContext) -> Reply[HeartbeatReply]:
    if not context.services.offers_consumer_groups:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    return context.services.groups.consumer.heartbeat(_requested(request, context))


def _requested(request: ConsumerGroupHeartbeatRequest, context: RequestContext) -> HeartbeatRequest:
    names, owned = request.subscribed_topic_names, request.topic_partitions
    fields = (
        request.group_id,
        request.member_id,
        request.member_epoch,
        request.instance_id,
        request.rack_id,
        request.rebalance_timeout_ms,
        None if names is None else tuple(names),
        request.subscribed_topic_regex,
        request.server_assignor,
        None if owned is None else claimed((each.topic_id, each.partitions) for each in owned),
        shared(context.client_id or ""),
        shared(f"/{context.client_host}"),  # as Java prints an address; the record stores it so
        context.api_version >= _CLIENT_CHOOSES_ID_SINCE,
        context.may_describe,
        None,  # it is not of the classic protocol
    )
    return _new_tuple(HeartbeatRequest, fields)


def _response(reply: HeartbeatReply) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if reply.assignment is not None:
        topics = [TopicPartitions(topic_id=each, partitions=list(of)) for each, of in reply.assignment.items()]
        assignment = Assignment(topic_partitions=topics)
    return ConsumerGroupHeartbeatResponse(
        error_code=ErrorCode.NONE,
        member_id=reply.member_id,
        member_epoch=reply.member_epoch,
        heartbeat_interval_ms=reply.heartbeat_interval_ms,
        assignment=assignment,
    )


def _refused(refusal: KafkaError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        error_code=refusal.code, error_message=refusal.message, member_epoch=0, heartbeat_interval_ms=0
    )
