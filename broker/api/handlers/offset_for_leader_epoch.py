"""OffsetForLeaderEpoch (key 23), v2-4: where a leader epoch ended, so that a reader finds where its log diverges.

Each partition has its own code: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER where another node leads,
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, KAFKA_STORAGE_ERROR. An epoch that never existed is no error: epoch -1,
offset -1.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.metadata.cluster.leader_epoch_check import check_leader_epoch
from barnabas.broker.runtime.refusals import REFUSALS, refusal_code
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from barnabas.storage.steps import Steps

SLICE = 100
_PARTITIONS = WorkClass(steps_max=SLICE)


def handle(
    request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse | Future[OffsetForLeaderEpochResponse]:
    return context.services.request_scheduler.in_slices(lambda: _look_up_all(request, context), _PARTITIONS)


def _look_up_all(request: OffsetForLeaderEpochRequest, context: RequestContext) -> Steps[OffsetForLeaderEpochResponse]:
    results = []
    for topic in request.topics:
        partitions = []
        for requested in topic.partitions:
            partitions.append(_end_of_epoch(topic.topic, requested, context))
            yield
        results.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions))
    return OffsetForLeaderEpochResponse(topics=results)


def _end_of_epoch(topic: str, requested: OffsetForLeaderPartition, context: RequestContext) -> EpochEndOffset:
    try:
        log = context.services.partitions.get(topic, requested.partition)
        check_leader_epoch(log, requested.current_leader_epoch)
        epoch, end_offset = log.end_offset_for_epoch(requested.leader_epoch)
    except REFUSALS as error:
        return EpochEndOffset(error_code=refusal_code(error), partition=requested.partition)
    return EpochEndOffset(
        error_code=ErrorCode.NONE, partition=requested.partition, leader_epoch=epoch, end_offset=end_offset
    )
