"""InitializeShareGroupState (key 83), v0: begin the states of share partitions, or begin them anew.

Kafka's group coordinator sends it to the share coordinator; here it is a call (coordinator/share/local_persister.py).
Codes of each partition: FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST for a negative partition.
"""

from __future__ import annotations

from barnabas.broker.api.share.share_states import serve_each
from barnabas.broker.partitions.share.persister import SharePartitionKey
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)


def handle(
    request: InitializeShareGroupStateRequest, context: RequestContext
) -> Reply[InitializeShareGroupStateResponse]:
    shares = context.services.shares

    def serve(key: SharePartitionKey, partition: PartitionData) -> Reply[PartitionResult]:
        return reply_to(
            lambda: shares.initialize(key, partition.state_epoch, partition.start_offset),
            lambda _: PartitionResult(partition=partition.partition, error_code=ErrorCode.NONE),
        )

    return serve_each(request, context.services, serve, _refused, _response)


def _refused(partition: int, refusal: KafkaError) -> PartitionResult:
    return PartitionResult(partition=partition, error_code=refusal.code, error_message=refusal.message)


def _response(results: list[tuple[bytes, list[PartitionResult]]]) -> InitializeShareGroupStateResponse:
    return InitializeShareGroupStateResponse(
        results=[InitializeStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in results]
    )
