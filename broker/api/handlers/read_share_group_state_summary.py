"""ReadShareGroupStateSummary (key 87), v0-1: read the progress of share partitions.

Kafka's group coordinator sends it to the share coordinator; here it is a call (coordinator/share/local_persister.py). A
state that was never begun has the start offset -1. Codes of each partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST
for a negative partition. From v1 on with the number of records whose delivery is complete.
"""

from __future__ import annotations

from barnabas.broker.api.share.share_states import serve_each
from barnabas.broker.partitions.share.persister import SharePartitionKey, ShareStateSummary
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)


def handle(
    request: ReadShareGroupStateSummaryRequest, context: RequestContext
) -> Reply[ReadShareGroupStateSummaryResponse]:
    shares = context.services.shares

    def serve(key: SharePartitionKey, partition: PartitionData) -> Reply[PartitionResult]:
        return reply_to(lambda: shares.summarize(key), lambda summary: _result(partition.partition, summary))

    return serve_each(request, context.services, serve, _refused, _response)


def _result(partition: int, summary: ShareStateSummary) -> PartitionResult:
    return PartitionResult(
        partition=partition,
        error_code=ErrorCode.NONE,
        state_epoch=summary.state_epoch,
        leader_epoch=summary.leader_epoch,
        start_offset=summary.start_offset,
        delivery_complete_count=summary.delivery_complete_count,
    )


def _refused(partition: int, refusal: KafkaError) -> PartitionResult:
    return PartitionResult(
        partition=partition,
        error_code=refusal.code,
        error_message=refusal.message,
        state_epoch=0,
        leader_epoch=0,
        start_offset=0,
    )


def _response(results: list[tuple[bytes, list[PartitionResult]]]) -> ReadShareGroupStateSummaryResponse:
    return ReadShareGroupStateSummaryResponse(
        results=[ReadStateSummaryResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in results]
    )
