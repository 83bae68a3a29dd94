"""WriteTxnMarkers (key 27), v1-2: end producers' transactions on partitions, whatever the state at their coordinator.

Kafka's coordinators send it to other brokers. Here it is the administrator's way to end a transaction that hangs
(`kafka-transactions.sh abort`). One control batch per marker and partition, answered when it is durable where the topic
requires that. Codes of each partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH,
TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR, INVALID_REQUEST for a producer id or epoch below zero;
NOT_LEADER_OR_FOLLOWER where a partition of `__consumer_offsets` is not available. From v2 on a marker has its
transaction.version, which decides about its epoch (KIP-1228). Many markers are written in slices; a write that has
begun is completed, even if the client does not wait any more.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from barnabas.broker.runtime.replies import reply_to, reply_to_all
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
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
from barnabas.storage.steps import Steps

_TOGETHER = 64
"""The number of partitions whose leader epochs are raised in one write."""
_MARKERS = WorkClass(may_begin_again=False)
_NO_COORDINATOR = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}
Waiting = list[tuple[WritableTxnMarkerPartitionResult, Future[None]]]


class _Requested(NamedTuple):
    """One marker for one partition, and its answer."""

    end: EndTxnMarker
    transaction_version: int
    topic: str
    result: WritableTxnMarkerPartitionResult


def handle(
    request: WriteTxnMarkersRequest, context: RequestContext
) -> WriteTxnMarkersResponse | Future[WriteTxnMarkersResponse]:
    waiting: Waiting = []
    response = WriteTxnMarkersResponse(markers=[])

    def respond(codes: list[ErrorCode | None]) -> WriteTxnMarkersResponse:
        for (result, _), code in zip(waiting, codes, strict=True):
            if code is not None:
                result.error_code = code
        return response

    return reply_to(
        lambda: context.services.request_scheduler.to_the_end(
            lambda: _write_all(request, response, waiting, context), _MARKERS
        ),
        lambda _: reply_to_all([synced for _, synced in waiting], respond, lambda refusal: refusal.code),
    )


def _write_all(
    request: WriteTxnMarkersRequest, response: WriteTxnMarkersResponse, waiting: Waiting, context: RequestContext
) -> Steps[None]:
    """Write all markers. Pauses after each partition that is opened, which takes long, and after some that are open."""
    requested = _requested(request, response, context)
    while some := list(islice(requested, _TOGETHER)):
        unled = set(context.services.partitions.lead([(each.topic, each.result.partition_index) for each in some]))
        for each in some:
            _write(each, waiting, context)
            if (each.topic, each.result.partition_index) in unled:
                yield
        yield


def _requested(
    request: WriteTxnMarkersRequest, response: WriteTxnMarkersResponse, context: RequestContext
) -> Iterator[_Requested]:
    """Yield each marker and partition, as it is put into the response."""
    now_ms = context.services.clock.now_ms()
    for marker in request.markers:
        if not marker.topics:
            continue
        end = _end(marker, now_ms)
        answer = WritableTxnMarkerResult(producer_id=marker.producer_id, topics=[])
        response.markers.append(answer)
        for topic in marker.topics:
            results: list[WritableTxnMarkerPartitionResult] = []
            answer.topics.append(WritableTxnMarkerTopicResult(name=topic.name, partitions=results))
            for partition in topic.partition_indexes:
                result = WritableTxnMarkerPartitionResult(partition_index=partition, error_code=ErrorCode.NONE)
                results.append(result)
                yield _Requested(end, marker.transaction_version, topic.name, result)


def _end(marker: WritableTxnMarker, now_ms: int) -> EndTxnMarker:
    return EndTxnMarker(
        marker.transaction_result, marker.producer_id, marker.producer_epoch, marker.coordinator_epoch, -1, now_ms
    )


def _write(requested: _Requested, waiting: Waiting, context: RequestContext) -> None:
    end, transaction_version, topic, result = requested
    try:
        if end.producer_id < 0 or end.producer_epoch < 0:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        synced = context.services.transactions.markers.write_marker(
            topic, result.partition_index, end, transaction_version=transaction_version
        )
    except KafkaError as refusal:
        result.error_code = _code(topic, refusal.code)
    else:
        if synced is not None:
            waiting.append((result, synced))


def _code(topic: str, code: ErrorCode) -> ErrorCode:
    if topic == CONSUMER_OFFSETS_TOPIC and code in _NO_COORDINATOR:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return code
