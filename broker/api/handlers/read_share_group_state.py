"""ReadShareGroupState (key 84), v0: read the states of share partitions.

Kafka's new leader of a share partition sends it to the share coordinator; here it is a call
(coordinator/share/local_persister.py). A new leader epoch is stored, and fences earlier leaders. Codes of each
partition: FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST for a state that was never begun.
"""

from __future__ import annotations

from barnabas.broker.api.share.share_states import serve_each
from barnabas.broker.partitions.share.persister import SharePartitionKey, StoredShareState
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)


def handle(request: ReadShareGroupStateRequest, context: RequestContext) -> Reply[ReadShareGroupStateResponse]:
    shares = context.services.shares

    def serve(key: SharePartitionKey, partition: PartitionData) -> Reply[PartitionResult]:
        return reply_to(
            lambda: shares.read(key, partition.leader_epoch), lambda state: _result(partition.partition, state)
        )

    return serve_each(request, context.services, serve, _refused, _response)


def _result(partition: int, state: StoredShareState) -> PartitionResult:
    return PartitionResult(
        partition=partition,
        error_code=ErrorCode.NONE,
        state_epoch=state.state_epoch,
        start_offset=state.start_offset,
        state_batches=[
            StateBatch(first_offset=first, last_offset=last, delivery_state=delivery_state, delivery_count=count)
            for first, last, delivery_state, count in state.batches
        ],
    )


def _refused(partition: int, refusal: KafkaError) -> PartitionResult:
    return PartitionResult(
        partition=partition,
        error_code=refusal.code,
        error_message=refusal.message,
        state_epoch=0,
        start_offset=0,
        state_batches=[],
    )


def _response(results: list[tuple[bytes, list[PartitionResult]]]) -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse(
        results=[ReadStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in results]
    )
