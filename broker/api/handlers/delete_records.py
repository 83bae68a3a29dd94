"""DeleteRecords (key 21), v0-2: move the log start offset of a partition up; -1 means the high watermark.

Each partition has its own code: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION for an internal topic,
POLICY_VIOLATION where cleanup.policy is `compact` alone, OFFSET_OUT_OF_RANGE below -1 or above the high watermark,
KAFKA_STORAGE_ERROR. Records before it can no longer be read; whole segments below it are deleted with the next
retention pass, and at once while the disk is full.

As in Kafka the answer does not wait for log-start-offset-checkpoint, which is written every few seconds
(housekeeping.py): after a kill, recently deleted records may exist again. A write for each request would write the rows
of all partitions, with two syncs, and would fail on a full disk, where this request has to free space.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.runtime.refusals import REFUSALS, refusal_code
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from barnabas.storage.steps import Steps

NO_LOW_WATERMARK = -1
SLICE = 100
_PARTITIONS = WorkClass(steps_max=SLICE, may_begin_again=False)  # by then -1 would be another offset


def handle(
    request: DeleteRecordsRequest, context: RequestContext
) -> DeleteRecordsResponse | Future[DeleteRecordsResponse]:
    return context.services.request_scheduler.to_the_end(lambda: _delete_all(request, context), _PARTITIONS)


def _delete_all(request: DeleteRecordsRequest, context: RequestContext) -> Steps[DeleteRecordsResponse]:
    results = []
    for topic in request.topics:
        partitions = []
        for requested in topic.partitions:
            partitions.append(_delete(topic.name, requested, context))
            yield
        results.append(DeleteRecordsTopicResult(name=topic.name, partitions=partitions))
    return DeleteRecordsResponse(topics=results)


def _delete(topic: str, requested: DeleteRecordsPartition, context: RequestContext) -> DeleteRecordsPartitionResult:
    partition = requested.partition_index
    try:
        context.services.partitions.get(topic, partition)  # a missing partition is unknown, even if internal
        if context.services.catalogue.topics[topic].is_internal:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is an internal topic of the broker")
        low_watermark = context.services.partitions.delete_records_before(topic, partition, requested.offset)
        context.services.disk_space.records_deleted(topic, partition)
    except REFUSALS as error:
        return DeleteRecordsPartitionResult(
            partition_index=partition, low_watermark=NO_LOW_WATERMARK, error_code=refusal_code(error)
        )
    return DeleteRecordsPartitionResult(
        partition_index=partition, low_watermark=low_watermark, error_code=ErrorCode.NONE
    )
