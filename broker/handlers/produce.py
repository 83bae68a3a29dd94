"""Produce (key 0), v3-13. Append one batch to each partition named; answer when it is where acks and flushing want it.

Each partition has its own code: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v13), INVALID_TOPIC_EXCEPTION for an
internal topic, NOT_ENOUGH_REPLICAS, KAFKA_STORAGE_ERROR, and what the log says of the batch. INVALID_REQUIRED_ACKS
when acks is not -1, 0 or 1. A request with transactional batches is refused whole with
TRANSACTIONAL_ID_AUTHORIZATION_FAILED, which every client takes as final: there are no transactions yet.

With acks=0 there is no answer; what the errors then do is the dispatcher's business. Requests and answers have the
shapes of `protocol.hot.produce`. The records lie in the receive buffer: what does not happen in this call works on a
copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from broker.context import RequestContext
from protocol.errors import ErrorCode, KafkaError
from protocol.files.names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from protocol.hot.produce import PartitionResult, ProduceRequest
from protocol.hot.writing import Topic
from protocol.records.batch import HEADER_SIZE
from storage.log_append import AppendResult
from storage.refusals import AppendRefused
from storage.validate import walk

if TYPE_CHECKING:
    from storage.log import PartitionLog

Produced = list[tuple[Topic, list[PartitionResult]]]
Pending = list[tuple[Topic, list[PartitionResult | Awaitable[PartitionResult]]]]

_ALL, _NONE, _LEADER = -1, 0, 1
INTERNAL_TOPICS = frozenset((CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, "__share_group_state"))
_ADMIN_CLIENT_ID = "__admin_client"
_WALKED_IN_PLACE_BYTES_MAX = 4 << 10
_ATTRIBUTES_LOW_BYTE = 22
_CODEC_MASK = 0x07
_TRANSACTIONAL = 0x10


def handle(request: ProduceRequest, context: RequestContext) -> Produced | Awaitable[Produced]:
    _, acks, _, topics = request
    services = context.services
    now_ms = services.clock.now_ms()
    answers: Pending = []
    is_complete = True
    is_transactional = _is_transactional(request)
    for topic, partitions in topics:
        results: list[PartitionResult | Awaitable[PartitionResult]] = []
        answers.append((topic, results))
        if is_transactional:
            results += [
                PartitionResult(index, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) for index, _ in partitions
            ]
            continue
        if isinstance(topic, bytes):
            found = services.catalogue.topics_by_id.get(topic)
            if found is None:
                results += [PartitionResult(index, ErrorCode.UNKNOWN_TOPIC_ID) for index, _ in partitions]
                continue
            topic = found.name
        if topic in INTERNAL_TOPICS and context.client_id != _ADMIN_CLIENT_ID:
            results += [PartitionResult(index, ErrorCode.INVALID_TOPIC_EXCEPTION) for index, _ in partitions]
            continue
        for index, records in partitions:
            try:
                result = _append(topic, index, records, acks, now_ms, context)
            except KafkaError as error:
                result = _refused(index, error)
            if not isinstance(result, PartitionResult):
                is_complete = False
            results.append(result)
    return answers if is_complete else _completed(answers)  # type: ignore[return-value]  # because all are results


def _is_transactional(request: ProduceRequest) -> bool:
    """Whether any batch is; then the request is refused before any partition is looked at."""
    for _, partitions in request[3]:
        for _, records in partitions:
            if records is not None and len(records) >= HEADER_SIZE and records[_ATTRIBUTES_LOW_BYTE] & _TRANSACTIONAL:
                return True
    return False


def _append(
    topic: str, index: int, records: memoryview | None, acks: int, now_ms: int, context: RequestContext
) -> PartitionResult | Awaitable[PartitionResult]:
    """Append to one partition, now if that can be; KafkaError when it is refused."""
    partitions = context.services.partitions
    log = partitions.get_led(topic, index)
    if records is None:
        raise AppendRefused(ErrorCode.INVALID_RECORD, "no batch")
    if acks == _ALL:
        if not log.enough_replicas:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    elif acks not in (_NONE, _LEADER):
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    size = len(records)
    if (
        size > _WALKED_IN_PLACE_BYTES_MAX or (size >= HEADER_SIZE and records[_ATTRIBUTES_LOW_BYTE] & _CODEC_MASK)
    ) and log.needs_walk(records, now_ms):
        # Small batches without compression are walked where they lie, if the topic wants it; the others off the loop.
        return _append_walked(log, index, bytes(records), context)
    result = partitions.append_to(log, records, now_ms, produce_version=context.api_version)
    synced = partitions.synced_log(log, result.last_offset + 1)
    if synced is not None:
        return _when_synced(synced, index, result)
    return PartitionResult(index, 0, result[0], result[2], result[3])


async def _append_walked(log: PartitionLog, index: int, records: bytes, context: RequestContext) -> PartitionResult:
    services = context.services
    now_ms = services.clock.now_ms()
    config, version = log.config, context.api_version
    try:
        loop = asyncio.get_running_loop()
        batch = await loop.run_in_executor(None, walk, records, config, now_ms, version)
        # The topic may have been deleted meanwhile, and one of the same name created.
        log = services.partitions.get_led(log.topic, index)
        result = services.partitions.append_to(log, batch, now_ms, produce_version=version, walked=True)
        synced = services.partitions.synced_log(log, result.last_offset + 1)
        if synced is not None:
            await synced
    except KafkaError as error:
        return _refused(index, error)
    return PartitionResult(index, 0, result.base_offset, result.log_append_time_ms, result.log_start_offset)


async def _when_synced(synced: asyncio.Future[None], index: int, result: AppendResult) -> PartitionResult:
    try:
        await synced
    except KafkaError as error:
        return _refused(index, error)
    return PartitionResult(index, 0, result.base_offset, result.log_append_time_ms, result.log_start_offset)


async def _completed(answers: Pending) -> Produced:
    """All results, in the order they were asked for; appends that are still to come happen in that order too."""
    return [
        (topic, [each if isinstance(each, PartitionResult) else await each for each in results])
        for topic, results in answers
    ]


def _refused(index: int, error: KafkaError) -> PartitionResult:
    record_errors = error.record_errors if isinstance(error, AppendRefused) else ()
    return PartitionResult(index, error.code, record_errors=record_errors, error_message=error.message)
