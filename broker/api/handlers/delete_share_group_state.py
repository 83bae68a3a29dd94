"""DeleteShareGroupState (key 86), v0: delete the states of share partitions; those that do not exist count as deleted.

Kafka's group coordinator sends it to the share coordinator; here it is a call (coordinator/share/local_persister.py).
Codes of each partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST for a negative partition.
"""

from __future__ import annotations

from barnabas.broker.api.share.share_states import serve_each
from barnabas.broker.partitions.share.persister import SharePartitionKey
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionData,
    PartitionResult,
)


def handle(request: DeleteShareGroupStateRequest, context: RequestContext) -> Reply[DeleteShareGroupStateResponse]:
    shares = context.services.shares

    def serve(key: SharePartitionKey, partition: PartitionData) -> Reply[PartitionResult]:
        return reply_to(
            lambda: shares.delete(key),
            lambda _: PartitionResult(partition=partition.partition, error_code=ErrorCode.NONE),
        )

    return serve_each(request, context.services, serve, _refused, _response)


def _refused(partition: int, refusal: KafkaError) -> PartitionResult:
    return PartitionResult(partition=partition, error_code=refusal.code, error_message=refusal.message)


def _response(results: list[tuple[bytes, list[PartitionResult]]]) -> DeleteShareGroupStateResponse:
    return DeleteShareGroupStateResponse(
        results=[DeleteStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in results]
    )
