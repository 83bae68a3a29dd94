# compiled: mypyc
"""ShareAcknowledge (key 79), v1-2: acknowledge records of a share group, and end the share session (KIP-932).

Acknowledgements are applied for each partition together or not at all, whether the session has the partition or not;
one without acknowledgements is not answered. At the top: UNSUPPORTED_VERSION without share groups, INVALID_REQUEST
without group or member, GROUP_AUTHORIZATION_FAILED, SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, also for
epoch 0. For a partition: INVALID_REQUEST, INVALID_RECORD_STATE, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION,
TOPIC_AUTHORIZATION_FAILED, NOT_LEADER_OR_FOLLOWER, and the errors of the persister. Epoch -1 ends the session, which
releases what its member still holds. Versions: 2 renews locks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.share.share_leaders import ShareLeaders
from barnabas.broker.api.share.share_request import ShareRequest
from barnabas.broker.partitions.share.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, SessionPartition
from barnabas.broker.runtime.replies import Reply, reply_to, reply_to_all
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from barnabas.broker.api.share.share_request import Outcome
    from barnabas.broker.partitions.share.share_sessions import ShareSession


def handle(request: ShareAcknowledgeRequest, context: RequestContext) -> Reply[ShareAcknowledgeResponse]:
    return reply_to(lambda: _acknowledge(request, context), lambda response: response, _refused)


def _acknowledge(request: ShareAcknowledgeRequest, context: RequestContext) -> Reply[ShareAcknowledgeResponse]:
    share = ShareRequest(request.group_id, request.member_id, context, is_renew_ack=request.is_renew_ack)
    session = _session(share, request.share_session_epoch)
    requested = {
        SessionPartition(topic.topic_id, each.partition_index): each.acknowledgement_batches
        for topic in request.topics
        for each in topic.partitions
        if each.acknowledgement_batches
    }
    is_last = request.share_session_epoch == FINAL_EPOCH
    return reply_to(
        lambda: share.acknowledge(session, requested),
        lambda replies: _respond(share, context, requested, replies, session if is_last else None),
    )


def _respond(
    share: ShareRequest,
    context: RequestContext,
    wanted: Iterable[SessionPartition],
    replies: Sequence[Outcome],
    ended: ShareSession | None,
) -> Reply[ShareAcknowledgeResponse]:
    """Return the response once the acknowledgements are stored. ended: the session whose last request it is."""
    lock_timeout_ms = share.manager.settings_of(share.key.group_id).record_lock_duration_ms
    leaders = ShareLeaders(context)
    response = reply_to_all(
        replies,
        lambda outcomes: _response(zip(wanted, outcomes, strict=True), lock_timeout_ms, leaders),
        lambda refusal: refusal,
    )
    return response if ended is None else share.end_after(ended, response)


def _session(share: ShareRequest, epoch: int) -> ShareSession:
    if epoch == INITIAL_EPOCH:
        raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    return share.manager.sessions.resume(share.key, epoch)


def _response(
    outcomes: Iterable[tuple[SessionPartition, KafkaError | None]], lock_timeout_ms: int, leaders: ShareLeaders
) -> ShareAcknowledgeResponse:
    topics: dict[bytes, list[PartitionData]] = {}
    for wanted, refusal in outcomes:
        leader_id, leader_epoch = leaders.of(wanted, refusal)
        data = PartitionData(
            partition_index=wanted.partition,
            error_code=ErrorCode.NONE if refusal is None else refusal.code,
            error_message=None if refusal is None else refusal.message,
            current_leader=LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch),
        )
        topics.setdefault(wanted.topic_id, []).append(data)
    return ShareAcknowledgeResponse(
        error_code=ErrorCode.NONE,
        acquisition_lock_timeout_ms=lock_timeout_ms,
        responses=[ShareAcknowledgeTopicResponse(topic_id=each, partitions=of) for each, of in topics.items()],
        node_endpoints=[NodeEndpoint(**each._asdict()) for each in leaders.endpoints],
    )


def _refused(refusal: KafkaError) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(
        error_code=refusal.code, error_message=refusal.message, responses=[], node_endpoints=[]
    )
