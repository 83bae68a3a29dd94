"""ShareGroupHeartbeat (key 76), v1: join, stay in and leave a share group (KIP-932).

UNSUPPORTED_VERSION without share groups. Answers the member's epoch, and its assignment if that changed or was
requested. Refusals have Kafka's messages: INVALID_REQUEST, GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED,
UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH. The decision is in coordinator/group/decisions/share.
"""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.share.model import ShareHeartbeatReply, ShareHeartbeatRequest
from barnabas.broker.coordinator.group.decisions.shared_texts import shared
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)


def handle(request: ShareGroupHeartbeatRequest, context: RequestContext) -> Reply[ShareGroupHeartbeatResponse]:
    return reply_to(lambda: _heartbeat(request, context), _response, _refused)


def _heartbeat(request: ShareGroupHeartbeatRequest, context: RequestContext) -> Reply[ShareHeartbeatReply]:
    if not context.services.offers_share_groups:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    names = request.subscribed_topic_names
    return context.services.groups.share.heartbeat(
        ShareHeartbeatRequest(
            request.group_id,
            request.member_id,
            request.member_epoch,
            request.rack_id,
            None if names is None else tuple(names),
            client_id=shared(context.client_id or ""),
            client_host=shared(f"/{context.client_host}"),  # as Java prints an address; the record stores it so
        )
    )


def _response(reply: ShareHeartbeatReply) -> ShareGroupHeartbeatResponse:
    assignment = None
    if reply.assignment is not None:
        topics = [TopicPartitions(topic_id=each, partitions=list(of)) for each, of in reply.assignment.items()]
        assignment = Assignment(topic_partitions=topics)
    return ShareGroupHeartbeatResponse(
        error_code=ErrorCode.NONE,
        member_id=reply.member_id,
        member_epoch=reply.member_epoch,
        heartbeat_interval_ms=reply.heartbeat_interval_ms,
        assignment=assignment,
    )


def _refused(refusal: KafkaError) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(
        error_code=refusal.code, error_message=refusal.message, member_epoch=0, heartbeat_interval_ms=0
    )
