# compiled: mypyc
"""ShareFetch (key 78), v1-2: acquire records of a share group, and acknowledge earlier ones (KIP-932).

Acknowledgements are stored while the fetch goes on, as in Kafka: what they release comes with the next fetch. A fetch
waits for min_bytes as long as its member wants. At the top: UNSUPPORTED_VERSION without share groups, INVALID_REQUEST,
GROUP_AUTHORIZATION_FAILED, SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED (after
max_wait), UNKNOWN_SERVER_ERROR for an unknown acquire mode. Each partition has its own code, and one for its
acknowledgements. Epoch 0 begins a session, -1 ends it. Versions: 2 acquires by count, and renews locks.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from barnabas.broker.api.share.share_leaders import ShareLeaders
from barnabas.broker.api.share.share_request import ShareRequest
from barnabas.broker.partitions.share.acquisition import AcquireMode, AcquireRequest
from barnabas.broker.partitions.share.delayed_share_fetch import DelayedShareFetch, ShareFetched, ShareFetchLimits
from barnabas.broker.partitions.share.share_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    SessionPartition,
    ShareSession,
)
from barnabas.broker.runtime.replies import Reply, answer_after, reply_to, reply_to_all
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.share_fetch import (
    AcknowledgementBatch,
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.api.share.share_request import Outcome
    from barnabas.broker.partitions.purgatory import DelayedOperation

_Answer: TypeAlias = "Reply[ShareFetchResponse] | DelayedOperation[Reply[ShareFetchResponse]]"
"""A parked fetch is answered in the turn of the event loop that finishes it, if its acknowledgements are stored."""
Acknowledged = Mapping[SessionPartition, Sequence[AcknowledgementBatch]]


def handle(request: ShareFetchRequest, context: RequestContext) -> _Answer:
    try:
        return _fetch(request, context)
    except KafkaError as error:
        refusal = ShareFetchResponse(
            error_code=error.code,
            error_message=error.message,
            acquisition_lock_timeout_ms=0,
            responses=[],
            node_endpoints=[],
        )
        if error.code is not ErrorCode.SHARE_SESSION_LIMIT_REACHED or request.max_wait_ms <= 0:
            return refusal
        held: Reply[None] = context.services.purgatory.until((), request.max_wait_ms, lambda: False)
        return reply_to(lambda: held, lambda _: refusal)


def _fetch(request: ShareFetchRequest, context: RequestContext) -> _Answer:
    share = ShareRequest(request.group_id, request.member_id, context, is_renew_ack=request.is_renew_ack)
    _check_renewal(request)
    acknowledged = {
        SessionPartition(topic.topic_id, each.partition_index): each.acknowledgement_batches
        for topic in request.topics
        for each in topic.partitions
        if each.acknowledgement_batches
    }
    session = _session(share, request, acknowledged)
    acquired = _acquire_request(request)
    fetch = partial(_fetch_after, request, context, share, session, acquired, list(acknowledged))
    replies = share.acknowledge(session, acknowledged)
    return answer_after(replies, lambda: fetch(replies.result())) if isinstance(replies, Future) else fetch(replies)


def _fetch_after(
    request: ShareFetchRequest,
    context: RequestContext,
    share: ShareRequest,
    session: ShareSession,
    acquired: AcquireRequest,
    acknowledged: Sequence[SessionPartition],
    replies: Sequence[Outcome],
) -> _Answer:
    """Fetch, once the acknowledgements are applied. `replies`: their outcomes, once they are stored."""
    epoch = request.share_session_epoch
    lock_timeout_ms = share.manager.settings_of(share.key.group_id).record_lock_duration_ms
    leaders = ShareLeaders(context)
    respond = partial(_respond, replies, acknowledged, epoch == INITIAL_EPOCH, lock_timeout_ms, leaders)
    if epoch == FINAL_EPOCH:
        return share.end_after(session, respond([]))
    refused = [ShareFetched(each, error) for each in session.partitions if (error := share.refusal_of(each))]
    wrong = {each.partition for each in refused}
    wanted = _rotated([each for each in session.partitions if each not in wrong], epoch)
    limits = ShareFetchLimits(
        request.max_wait_ms,
        request.min_bytes,
        min(request.max_bytes, context.services.config.integer("fetch.max.bytes")),
    )
    waiters = context.services.purgatory
    fetch = DelayedShareFetch(share.manager, waiters, share.key.group_id, acquired, limits, wanted)
    return fetch.answer(lambda results: respond([*refused, *results]))


def _check_renewal(request: ShareFetchRequest) -> None:
    """Raise KafkaError INVALID_REQUEST if a request that renews locks would acquire records, too."""
    sizes = request.max_wait_ms, request.min_bytes, request.max_bytes, request.max_records
    if request.is_renew_ack and any(sizes):
        raise KafkaError(ErrorCode.INVALID_REQUEST)


def _acquire_request(request: ShareFetchRequest) -> AcquireRequest:
    """Return what the request acquires. Raises KafkaError UNKNOWN_SERVER_ERROR; the epoch counts then, too."""
    if request.share_acquire_mode not in tuple(AcquireMode):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert request.member_id is not None, "checked before"
    mode = AcquireMode(request.share_acquire_mode)
    return AcquireRequest(request.member_id, request.max_records, max(1, request.batch_size), mode)


def _session(share: ShareRequest, request: ShareFetchRequest, acknowledged: Acknowledged) -> ShareSession:
    """Begin or continue the session. Raises KafkaError."""
    wanted = [
        SessionPartition(topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions
    ]
    sessions = share.manager.sessions
    if request.share_session_epoch == INITIAL_EPOCH:
        if acknowledged:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        return sessions.begin(share.key, wanted, share.connection)
    session = sessions.resume(share.key, request.share_session_epoch)
    if request.share_session_epoch != FINAL_EPOCH:
        session.partitions.update(dict.fromkeys(wanted))
        for topic in request.forgotten_topics_data:
            for number in topic.partitions:
                session.partitions.pop(SessionPartition(topic.topic_id, number), None)
    return session


def _rotated(wanted: list[SessionPartition], epoch: int) -> list[SessionPartition]:
    """Return the partitions in the order of this request: each begins with another."""
    begin = epoch % len(wanted) if wanted else 0
    return [*wanted[begin:], *wanted[:begin]]


def _respond(
    replies: Sequence[Outcome],
    acknowledged: Sequence[SessionPartition],
    is_full: bool,
    lock_timeout_ms: int,
    leaders: ShareLeaders,
    fetched: Sequence[ShareFetched],
) -> Reply[ShareFetchResponse]:
    """Return the response once the acknowledgements are stored. is_full: partitions without news are in it, too."""
    news = {each.partition: each for each in fetched if is_full or each.acquired or each.error is not None}
    return reply_to_all(
        replies,
        lambda outcomes: _response(news, dict(zip(acknowledged, outcomes, strict=True)), lock_timeout_ms, leaders),
        lambda refusal: refusal,
    )


def _response(
    news: Mapping[SessionPartition, ShareFetched],
    refusals: Mapping[SessionPartition, KafkaError | None],
    lock_timeout_ms: int,
    leaders: ShareLeaders,
) -> ShareFetchResponse:
    topics: dict[bytes, list[PartitionData]] = {}
    for wanted in {**news, **refusals}:
        data = _partition(wanted, news.get(wanted), refusals.get(wanted), leaders)
        topics.setdefault(wanted.topic_id, []).append(data)
    return ShareFetchResponse(
        error_code=ErrorCode.NONE,
        acquisition_lock_timeout_ms=lock_timeout_ms,
        responses=[ShareFetchableTopicResponse(topic_id=each, partitions=of) for each, of in topics.items()],
        node_endpoints=[NodeEndpoint(**each._asdict()) for each in leaders.endpoints],
    )


def _partition(
    wanted: SessionPartition, found: ShareFetched | None, refusal: KafkaError | None, leaders: ShareLeaders
) -> PartitionData:
    error = None if found is None else found.error
    leader_id, leader_epoch = leaders.of(wanted, error)
    return PartitionData(
        partition_index=wanted.partition,
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        acknowledge_error_code=ErrorCode.NONE if refusal is None else refusal.code,
        acknowledge_error_message=None if refusal is None else refusal.message,
        current_leader=LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch),
        records=b"" if found is None else found.records,
        acquired_records=[
            AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
            for first, last, count in (() if found is None else found.acquired)
        ],
    )
