"""DescribeProducers (key 61), v0: the producers that each partition knows, with the offset of an open transaction.

Idempotent producers and those whose transaction is over are listed, too. A start offset without an ongoing transaction
of that producer in DescribeTransactions is a hanging transaction. Each partition has its own error.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.metadata.image.topic_changes import check_name
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CLUSTER_METADATA_TOPIC
from barnabas.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from barnabas.storage.steps import Steps

_PARTITIONS = WorkClass(steps_max=10, slice_ms=5)  # one that is not open yet has to be opened


def handle(
    request: DescribeProducersRequest, context: RequestContext
) -> DescribeProducersResponse | Future[DescribeProducersResponse]:
    return context.services.request_scheduler.in_slices(lambda: _describe_all(request, context), _PARTITIONS)


def _describe_all(request: DescribeProducersRequest, context: RequestContext) -> Steps[DescribeProducersResponse]:
    on_disk = context.services.partitions.directory.partitions
    topics = []
    for topic in request.topics:
        partitions = []
        for number in topic.partition_indexes:
            partitions.append(_describe(topic.name, number, on_disk, context))
            yield
        topics.append(TopicResponse(name=topic.name, partitions=partitions))
    return DescribeProducersResponse(topics=topics)


def _describe(
    topic: str, partition: int, on_disk: frozenset[tuple[str, int]], context: RequestContext
) -> PartitionResponse:
    try:
        if topic != CLUSTER_METADATA_TOPIC:  # a valid name, but no topic for clients
            check_name(topic)
        log = context.services.partitions.get_if_written(topic, partition, on_disk)
    except KafkaError as error:
        return PartitionResponse(
            partition_index=partition, error_code=error.code, error_message=error.message, active_producers=[]
        )
    return PartitionResponse(
        partition_index=partition,
        error_code=ErrorCode.NONE,
        active_producers=[
            ProducerState(
                producer_id=producer_id,
                producer_epoch=epoch,
                last_sequence=last_sequence,
                last_timestamp=last_timestamp,
                coordinator_epoch=coordinator_epoch,
                current_txn_start_offset=txn_start_offset,
            )
            for producer_id, epoch, last_sequence, last_timestamp, coordinator_epoch, txn_start_offset in (
                [] if log is None else log.producers_state()
            )
        ],
    )
