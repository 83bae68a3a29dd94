"""WriteShareGroupState (key 85), v0-1: store changes of the states of share partitions.

Kafka's leader of a share partition sends it to the share coordinator; here it is a call
(coordinator/share/local_persister.py). Codes of each partition: FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH,
UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST for a state that was never begun. From v1 on with the number of records
whose delivery is complete.
"""

from __future__ import annotations

from barnabas.broker.api.share.share_states import serve_each
from barnabas.broker.partitions.share.persister import SharePartitionKey, ShareStateUpdate, StateBatch
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)


def handle(request: WriteShareGroupStateRequest, context: RequestContext) -> Reply[WriteShareGroupStateResponse]:
    shares = context.services.shares

    def serve(key: SharePartitionKey, partition: PartitionData) -> Reply[PartitionResult]:
        return reply_to(
            lambda: shares.write(key, _update(partition)),
            lambda _: PartitionResult(partition=partition.partition, error_code=ErrorCode.NONE),
        )

    return serve_each(request, context.services, serve, _refused, _response)


def _update(partition: PartitionData) -> ShareStateUpdate:
    return ShareStateUpdate(
        partition.state_epoch,
        partition.leader_epoch,
        partition.start_offset,
        partition.delivery_complete_count,
        [
            StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
            for each in partition.state_batches
        ],
    )


def _refused(partition: int, refusal: KafkaError) -> PartitionResult:
    return PartitionResult(partition=partition, error_code=refusal.code, error_message=refusal.message)


def _response(results: list[tuple[bytes, list[PartitionResult]]]) -> WriteShareGroupStateResponse:
    return WriteShareGroupStateResponse(
        results=[WriteStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in results]
    )
