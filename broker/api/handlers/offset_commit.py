# compiled: mypyc
"""OffsetCommit (key 8), v2-10: store the offsets that a group has read.

Answered once the offsets are in `__consumer_offsets` (and on disk, where flushing is on). Each partition has its own
code: UNKNOWN_TOPIC_OR_PARTITION (v10: UNKNOWN_TOPIC_ID), OFFSET_METADATA_TOO_LARGE, or the code of the whole group:
UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS; for a consumer group
STALE_MEMBER_EPOCH (before v9: UNSUPPORTED_VERSION); a member of a group that does not exist gets GROUP_ID_NOT_FOUND
(before v9: ILLEGAL_GENERATION). An offset is not checked against the log, and may decrease. The decision is in
coordinator/group/decisions/offsets. Versions: 2-4 retention time, 6 leader epoch, 7 static members, 8 flexible, 10
topic ids.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.decisions.classic.model import NO_EXPIRY_MS, CommitRequest, OffsetToCommit
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.storage.steps import Pauses, Steps

if TYPE_CHECKING:
    from barnabas.broker.metadata.catalogue import TopicImage

Codes = tuple[ErrorCode, ...]
Validated = tuple[OffsetCommitResponse, list[OffsetToCommit], list[OffsetCommitResponsePartition]]
"""The response as far as it is known, the offsets to commit, and the partitions that wait for their codes."""

_GROUP_ID_NOT_FOUND_SINCE = 9
_TOPIC_IDS_SINCE = 10
_EXPIRES_MS_MAX = (1 << 63) - 1
_NO_RETENTION_TIME = -1


def handle(
    request: OffsetCommitRequest, context: RequestContext
) -> OffsetCommitResponse | Future[OffsetCommitResponse]:
    return reply_to(
        lambda: context.services.request_scheduler.in_slices(lambda: _validate(request, context)),
        lambda validated: _committed(request, validated, context),
    )


def _committed(
    request: OffsetCommitRequest, validated: Validated, context: RequestContext
) -> OffsetCommitResponse | Future[OffsetCommitResponse]:
    response, wanted, awaited = validated
    if not wanted:
        return response
    return reply_to(
        lambda: _commit(request, wanted, context),
        lambda codes: _filled(response, awaited, codes),
        lambda refusal: _filled(response, awaited, (refusal.code,) * len(awaited)),
    )


def _commit(
    request: OffsetCommitRequest, wanted: list[OffsetToCommit], context: RequestContext
) -> Codes | Future[Codes]:
    has_own_code = context.api_version >= _GROUP_ID_NOT_FOUND_SINCE
    return context.services.groups.commit_offsets(
        CommitRequest(
            request.group_id,
            request.generation_id_or_member_epoch,
            request.member_id,
            request.group_instance_id,
            tuple(wanted),
            has_member_epoch=has_own_code,
        ),
        missing_group=ErrorCode.GROUP_ID_NOT_FOUND if has_own_code else ErrorCode.ILLEGAL_GENERATION,
    )


def _validate(request: OffsetCommitRequest, context: RequestContext) -> Steps[Validated]:
    wanted: list[OffsetToCommit] = []
    awaited: list[OffsetCommitResponsePartition] = []
    topics: list[OffsetCommitResponseTopic] = []
    unknown = (
        ErrorCode.UNKNOWN_TOPIC_ID if context.api_version >= _TOPIC_IDS_SINCE else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    pauses = Pauses()
    expires_ms = NO_EXPIRY_MS
    if request.retention_time_ms != _NO_RETENTION_TIME:
        expires_ms = min(context.services.clock.now_ms() + request.retention_time_ms, _EXPIRES_MS_MAX)
    for requested in request.topics:
        topic = _topic(requested, context)
        answers = [
            OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=ErrorCode.NONE)
            for partition in requested.partitions
        ]
        for partition, answer in zip(requested.partitions, answers, strict=True):
            if pauses.is_due():
                yield
            if topic is None:
                answer.error_code = unknown
            elif not 0 <= partition.partition_index < len(topic.partitions):
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                wanted.append(_wanted(topic, partition, expires_ms))
                awaited.append(answer)
        topics.append(OffsetCommitResponseTopic(name=requested.name, topic_id=requested.topic_id, partitions=answers))
    return OffsetCommitResponse(topics=topics), wanted, awaited


def _topic(requested: OffsetCommitRequestTopic, context: RequestContext) -> TopicImage | None:
    catalogue = context.services.catalogue
    if context.api_version >= _TOPIC_IDS_SINCE:
        return catalogue.topics_by_id.get(requested.topic_id)
    return catalogue.topics.get(requested.name)


def _wanted(topic: TopicImage, partition: OffsetCommitRequestPartition, expires_ms: int) -> OffsetToCommit:
    return OffsetToCommit(
        topic.name,
        topic.topic_id,
        partition.partition_index,
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata or "",
        expires_ms,
    )


def _filled(
    response: OffsetCommitResponse, awaited: Iterable[OffsetCommitResponsePartition], codes: Codes
) -> OffsetCommitResponse:
    for answer, code in zip(awaited, codes, strict=True):
        answer.error_code = code
    return response
