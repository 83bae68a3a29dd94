"""ListOffsets (key 2), v1-11: where a partition begins, ends, or first reaches a timestamp.

Each partition has its own code: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER where another node leads,
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, KAFKA_STORAGE_ERROR, INVALID_REQUEST for a partition named twice or an
isolation level that does not exist, UNSUPPORTED_VERSION for a special timestamp that is newer than the request's
version or that means nothing. A timestamp after the last record is no error: offset -1. Read_committed searches below
the last stable offset.

A look-up by time may have to read much, including compressed batches of clients: it is done in slices
(broker/runtime/scheduler.py).
"""

from __future__ import annotations

from asyncio import Future
from collections import Counter

from barnabas.broker.metadata.cluster.leader_epoch_check import check_leader_epoch
from barnabas.broker.runtime.refusals import REFUSALS, refusal_code
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.storage.errors import FileRemoved
from barnabas.storage.log.offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    FoundOffset,
)
from barnabas.storage.steps import Steps

SINCE_VERSION = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
LEADER_EPOCH_SINCE_VERSION = 4
NO_EPOCH = -1
CONSUMER = -1  # every other replica id, that for debugging too, sees all records
READ_UNCOMMITTED = 0
READ_COMMITTED = 1


def handle(request: ListOffsetsRequest, context: RequestContext) -> ListOffsetsResponse | Future[ListOffsetsResponse]:
    return context.services.request_scheduler.in_slices(lambda: _look_up_all(request, context))


def _look_up_all(request: ListOffsetsRequest, context: RequestContext) -> Steps[ListOffsetsResponse]:
    times_requested = Counter(
        (topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions
    )
    committed = request.isolation_level == READ_COMMITTED and request.replica_id == CONSUMER
    topics = []
    for topic in request.topics:
        partitions = []
        for wanted in topic.partitions:
            yield
            try:
                if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
                    raise KafkaError(
                        ErrorCode.INVALID_REQUEST, f"there is no isolation level {request.isolation_level}"
                    )
                if times_requested[topic.name, wanted.partition_index] > 1:
                    raise KafkaError(
                        ErrorCode.INVALID_REQUEST, f"{topic.name}-{wanted.partition_index} is requested twice"
                    )
                partitions.append((yield from _look_up(topic.name, wanted, committed, context)))
            except REFUSALS as error:
                partitions.append(
                    ListOffsetsPartitionResponse(partition_index=wanted.partition_index, error_code=refusal_code(error))
                )
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return ListOffsetsResponse(topics=topics)


def _look_up(
    topic: str, wanted: ListOffsetsPartition, committed: bool, context: RequestContext
) -> Steps[ListOffsetsPartitionResponse]:
    try:
        found = yield from _find(topic, wanted, committed, context)
    except FileRemoved:  # retention removed it meanwhile, or the topic is deleted: the current log has the answer
        found = yield from _find(topic, wanted, committed, context)
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index,
        error_code=ErrorCode.NONE,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch if context.api_version >= LEADER_EPOCH_SINCE_VERSION else NO_EPOCH,
    )


def _find(topic: str, wanted: ListOffsetsPartition, committed: bool, context: RequestContext) -> Steps[FoundOffset]:
    if wanted.timestamp < 0 and context.api_version < SINCE_VERSION.get(wanted.timestamp, context.api_version + 1):
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, f"timestamp {wanted.timestamp} in version {context.api_version}"
        )
    log = context.services.partitions.get(topic, wanted.partition_index)
    check_leader_epoch(log, wanted.current_leader_epoch)
    return (yield from log.find_offset(wanted.timestamp, committed=committed))
