"""WriteTxnMarkers (key 27), v1-2: end producers' transactions on partitions, whatever their coordinator says.

Kafka's coordinators send it to other brokers. Here it is the administrator's way to end a transaction that hangs
(`kafka-transactions.sh abort`). One control batch per marker and partition, answered when it is durable where the
topic asks for that. Codes of each partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH,
TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR, INVALID_REQUEST for a producer id or epoch below zero;
NOT_LEADER_OR_FOLLOWER where a partition of `__consumer_offsets` is not to be had. From v2 on a marker says its
transaction.version, which decides about its epoch (KIP-1228).
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterator

from barnabas.broker.context import RequestContext
from barnabas.broker.replies import reply_to_all
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from barnabas.protocol.records.control import EndTxnMarker

_NO_COORDINATOR = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}
Waiting = list[tuple[WritableTxnMarkerPartitionResult, Future[None]]]


def handle(
    request: WriteTxnMarkersRequest, context: RequestContext
) -> WriteTxnMarkersResponse | Future[WriteTxnMarkersResponse]:
    waiting: Waiting = []
    response = WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=list(_write(marker, topic.name, topic.partition_indexes, context, waiting)),
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
            if marker.topics
        ]
    )

    def respond(codes: list[ErrorCode | None]) -> WriteTxnMarkersResponse:
        for (result, _), code in zip(waiting, codes, strict=True):
            if code is not None:
                result.error_code = code
        return response

    return reply_to_all([synced for _, synced in waiting], respond, lambda refusal: refusal.code)


def _write(
    marker: WritableTxnMarker, topic: str, partitions: list[int], context: RequestContext, waiting: Waiting
) -> Iterator[WritableTxnMarkerPartitionResult]:
    end = EndTxnMarker(
        marker.transaction_result,
        marker.producer_id,
        marker.producer_epoch,
        marker.coordinator_epoch,
        -1,
        context.services.clock.now_ms(),
    )
    for partition in partitions:
        result = WritableTxnMarkerPartitionResult(partition_index=partition, error_code=ErrorCode.NONE)
        try:
            if marker.producer_id < 0 or marker.producer_epoch < 0:
                raise KafkaError(ErrorCode.INVALID_REQUEST)
            synced = context.services.transactions.markers.write_marker(
                topic, partition, end, transaction_version=marker.transaction_version
            )
        except KafkaError as refusal:
            result.error_code = _code(topic, refusal.code)
        else:
            if synced is not None:
                waiting.append((result, synced))
        yield result


def _code(topic: str, code: ErrorCode) -> ErrorCode:
    if topic == CONSUMER_OFFSETS_TOPIC and code in _NO_COORDINATOR:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return code
