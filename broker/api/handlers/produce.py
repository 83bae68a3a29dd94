# compiled: mypyc
"""Produce (key 0), v3-13. Append one batch to each partition named; answer when acks and flushing allow it.

Each partition has its own code: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v13), INVALID_TOPIC_EXCEPTION for an
internal topic, NOT_LEADER_OR_FOLLOWER where another node leads, NOT_ENOUGH_REPLICAS, KAFKA_STORAGE_ERROR, and the
errors of the log for the batch. With acks=-1, a batch that was waiting for the disk while its leader moved is answered
NOT_LEADER_OR_FOLLOWER, and NOT_ENOUGH_REPLICAS_AFTER_APPEND if too few replicas are in sync by then.
INVALID_REQUIRED_ACKS when acks is not -1, 0 or 1.

Transactional batches without a transactional id are refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED, those of two
producers in one request with INVALID_PRODUCER_ID_MAPPING: every partition of the request. A batch that begins a
transaction on its partition is first verified with the coordinator, or from v12 on added to the transaction
(coordinator/transaction/verification.py); an error of the coordinator is that partition's error, and the others are
appended.

A request whose partitions take longer to open than is left of a turn of the event loop waits until all are open, and is
then appended: if some were refused, a producer without idempotence would write its batches in another order. If no
partition of a request can be served yet, because they are being recovered, it waits for them, up to its timeout. If
some can be, they are, and the rest gets NOT_LEADER_OR_FOLLOWER: the client retries these. A batch whose validation
takes long is appended once that is over (partitions/produce/deferred_appends.py). A batch that is refused with a
retriable error is noted: no later one of its producer is appended before it (storage/producers/refused_batches.py).

A request of more than five hundred partitions is produced in pieces (partitions/produce/produce_pieces.py).

With acks=0 there is no answer; the dispatcher handles the errors. Requests and answers are the tuples of
`protocol/hot/produce.py`. Records are in the receive buffer: work after this call uses a copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.coordinator.transaction.decisions.model import TopicPartition
from barnabas.broker.coordinator.transaction.verification import (
    PRODUCE_ADDS_SINCE,
    Verdicts,
    admit,
    confirm,
    produce_error,
)
from barnabas.broker.metadata.image.image import INTERNAL_TOPICS
from barnabas.broker.partitions.disk_space.disk_space_watch import check_disk_space
from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.broker.partitions.produce.batch_validations import PendingValidation
from barnabas.broker.partitions.produce.deferred_appends import (
    RECORD_ERRORS_MAX,
    DeferredAppends,
    Outcome,
    Syncing,
    refusal,
    shortened,
)
from barnabas.broker.partitions.produce.deferred_results import Pending, Produced, all_results
from barnabas.broker.partitions.produce.delayed_produce import may_wait, owned, produce_after
from barnabas.broker.partitions.produce.produce_pieces import PIECES, in_pieces
from barnabas.broker.runtime.events.kinds import PRODUCE_REFUSED
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import OwnedRequestContext, RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.hot.produce import PartitionResult, ProduceRequest
from barnabas.protocol.records.batch import HEADER_SIZE, LENGTH_POSITION, LOG_OVERHEAD, NO_TIMESTAMP
from barnabas.storage.log.append import PLAIN_SINCE_PRODUCE_VERSION
from barnabas.storage.log.log_validator import check_shape
from barnabas.storage.refusals import AppendRefused

if TYPE_CHECKING:
    from barnabas.broker.runtime.scheduler import Work
    from barnabas.protocol.primitives import Buffer
    from barnabas.storage.log.log import PartitionLog

_ALL: Final = -1
_NONE: Final = 0
_LEADER: Final = 1
_ADMIN_CLIENT_ID: Final = "__admin_client"
_WALKED_IN_PLACE_BYTES_MAX: Final = 4 << 10
_ATTRIBUTES_LOW_BYTE: Final = 22
_CODEC_MASK: Final = 0x07
_TRANSACTIONAL: Final = 0x10
_PRODUCER_POSITION: Final = 43
# Declared, because compiled, numbers of type Any are objects: each comparison then takes a call.
_unpack_producer: Final[Callable[[Buffer, int], tuple[int, int]]] = Struct(">qh").unpack_from  # id, epoch
_unpack_length: Final[Callable[[Buffer, int], tuple[int]]] = Struct(">i").unpack_from
_NONE_REFUSED: Verdicts = {}
_NO_ERROR: Final = ErrorCode.NONE  # compiled, the look-up of an enum's member takes as long as a call
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


class _Producer(NamedTuple):
    """The producer of the transactional batches of a request."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


def handle(request: ProduceRequest, context: RequestContext) -> Reply[Produced]:
    topics = request[3]
    partitions = context.services.partitions
    is_late = partitions.recoveries.turn_is_over
    unled: list[TopicPartition] = []
    if len(topics) > 1 or (topics and len(topics[0][1]) > 1):
        if isinstance(context, OwnedRequestContext):
            as_current_request, part = keep_current_request(context.services), context.of_a_part()
            pieces = partial(in_pieces, request, lambda piece: as_current_request(partial(handle, piece, part)))
            return context.services.request_scheduler.in_slices(pieces, PIECES)
        unled = partitions.lead(_writable(request, context))
    elif is_late:
        unled = [key for key in _writable(request, context) if key not in partitions.led]
    if (is_late or len(unled) > 1) and unled and may_wait(request, partitions.recoveries):
        opened = context.services.request_scheduler.in_slices(partial(_open_all, unled, context))
        if isinstance(opened, asyncio.Future):
            return produce_after(opened, partial(_produce, context=context), request, partitions.recoveries)
    return _produce(request, context)


def _open_all(unled: list[TopicPartition], context: RequestContext) -> Work[None]:
    """Open the logs that are not open, as far as possible: the append reports the errors of the others."""
    if context.services.partitions.recoveries.turn_is_over:
        yield context.services.request_scheduler.next_turn()
    for topic, index in unled:
        with suppress(KafkaError):  # the append gets it again, and answers it
            context.services.partitions.get_led(topic, index)
        yield None


def _produce(request: ProduceRequest, context: RequestContext, *, has_waited: bool = False) -> Reply[Produced]:
    try:
        return _judge_and_append(request, context)
    except StillRecovering:
        partitions = context.services.partitions
        if has_waited or request[2] <= 0 or not may_wait(request, partitions.recoveries):
            return _all_refused(request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        recovered = partitions.recovered(_writable(request, context), request[2])
        produce = partial(_produce, context=context, has_waited=True)
        return produce_after(recovered, produce, request, partitions.recoveries)


def _judge_and_append(request: ProduceRequest, context: RequestContext) -> Reply[Produced]:
    """Append the batches. Raise StillRecovering if every partition is being recovered; then nothing was appended."""
    if _is_transactional(request):
        return _handle_transactional(request, context)
    return _append_all(request, context)


def _writable(request: ProduceRequest, context: RequestContext) -> Iterator[TopicPartition]:
    """Yield the partitions that the request may write to; they may not exist."""
    topics_by_id = context.services.catalogue.topics_by_id
    for topic, partitions in request[3]:
        if isinstance(topic, bytes):
            found = topics_by_id.get(topic)
            topic = "" if found is None else found.name
        if not _is_refused(topic, context):
            for index, _ in partitions:
                yield topic, index


def _append_all(
    request: ProduceRequest,
    context: RequestContext,
    refused: Verdicts = _NONE_REFUSED,
    producer: _Producer | None = None,
) -> Reply[Produced]:
    """Append every batch except those of partitions in `refused`; `producer` wrote the transactional ones.

    Raise StillRecovering if every partition is being recovered; then nothing was appended.
    """
    _, acks, _, topics = request
    services = context.services
    now_ms = services.clock.now_ms()
    answers: Pending = []
    named = 0  # record errors
    is_complete = True
    recovering: list[KafkaError] = []
    late: DeferredAppends | None = None
    for topic, partitions in topics:
        results: list[Outcome | asyncio.Future[Outcome]] = []
        answers.append((topic, results))
        topic_id = None
        if isinstance(topic, bytes):
            topic_id = topic
            found = services.catalogue.topics_by_id.get(topic)
            if found is None:
                results += [PartitionResult(index, ErrorCode.UNKNOWN_TOPIC_ID) for index, _ in partitions]
                continue
            topic = found.name
        if _is_refused(topic, context):
            results += [PartitionResult(index, ErrorCode.INVALID_TOPIC_EXCEPTION) for index, _ in partitions]
            continue
        for index, records in partitions:
            if refused and (topic, index) in refused:
                code = refused[topic, index]
                _note_refused((topic, index), records, code, acks, context)
                results.append(PartitionResult(index, code))
                continue
            try:
                result = _append(topic, index, records, acks, now_ms, context)
            except KafkaError as error:
                result = shortened(refusal(index, error), RECORD_ERRORS_MAX - named)
                named += len(result.record_errors)
                _note_refused((topic, index), records, error.code, acks, context)
                if isinstance(error, StillRecovering):
                    recovering.append(error.as_value())
            except Exception:
                if late is not None:
                    late.give_up()  # the whole request is answered as failed
                raise
            if isinstance(result, PartitionResult):
                results.append(result)
                continue
            is_complete = False
            if isinstance(result, PendingValidation):
                late = late or _late_appends(acks, context, producer)
                results.append(late.add(result, topic_id))
            else:
                results.append(result)
    if recovering and len(recovering) == sum(len(results) for _, results in answers):
        raise recovering.pop()  # popped, so that this frame has no reference to it: its traceback refers to the frame
    if not is_complete:
        return asyncio.ensure_future(all_results(answers, named))
    return answers  # type: ignore[return-value]  # because all are results


def _is_refused(topic: str, context: RequestContext) -> bool:
    """Return whether only the broker itself, and an administrator's tools, may write to the topic."""
    return topic in INTERNAL_TOPICS and context.client_id != _ADMIN_CLIENT_ID


def _is_transactional(request: ProduceRequest) -> bool:
    """Return whether any batch is transactional."""
    for _, partitions in request[3]:
        for _, records in partitions:
            if records is not None and len(records) >= HEADER_SIZE and records[_ATTRIBUTES_LOW_BYTE] & _TRANSACTIONAL:
                return True
    return False


def _handle_transactional(request: ProduceRequest, context: RequestContext) -> Reply[Produced]:
    transactional_id = request[0]
    if transactional_id is None:
        return _all_refused(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    writers, beginning, unjudged = _transactional_batches(request, context)
    if len(writers) > 1:
        return _all_refused(request, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    adds = context.api_version >= PRODUCE_ADDS_SINCE
    services = context.services
    if not writers or not (adds or services.config.boolean("transaction.partition.verification.enable")):
        return _append_all(request, context)
    (writer,) = writers
    producer = _Producer(transactional_id, *writer)
    if not beginning:
        # A retry in this turn may find that the disk works again, but the batch was not verified.
        failed = {where: code for where, code in unjudged.items() if code is ErrorCode.KAFKA_STORAGE_ERROR}
        return _append_all(request, context, failed, producer)
    verdicts = admit(services.transactions_of(transactional_id), *producer, list(beginning), adds=adds)  # keys only
    if isinstance(verdicts, asyncio.Future):
        return _append_when_admitted(owned(request), context, producer, unjudged, verdicts)
    return _append_all(request, context, _refused(verdicts, unjudged, context), producer)


def _transactional_batches(
    request: ProduceRequest, context: RequestContext
) -> tuple[set[tuple[int, int]], dict[TopicPartition, memoryview], dict[TopicPartition, ErrorCode]]:
    """Return the writers as (producer id, epoch); the batches that begin a transaction on their partition; and errors.

    The errors are of partitions that are not available, so that this is unknown: no batch is appended there, even if
    the partition is available later.
    """
    topics_by_id, partitions = context.services.catalogue.topics_by_id, context.services.partitions
    writers: set[tuple[int, int]] = set()
    beginning: dict[TopicPartition, memoryview] = {}
    unjudged: dict[TopicPartition, ErrorCode] = {}
    for topic, batches in request[3]:
        if isinstance(topic, bytes):
            found = topics_by_id.get(topic)
            topic = "" if found is None else found.name
        is_refused = _is_refused(topic, context)
        for index, records in batches:
            if records is None or len(records) < HEADER_SIZE or not records[_ATTRIBUTES_LOW_BYTE] & _TRANSACTIONAL:
                continue
            producer_id, producer_epoch = writer = _unpack_producer(records, _PRODUCER_POSITION)
            if producer_id < 0:
                continue
            writers.add(writer)
            where = topic, index
            try:
                log = partitions.get_led(topic, index)
                if not log.answers_at_once:
                    check_disk_space(log)
            except KafkaError as error:
                unjudged[where] = error.code
                continue
            if is_refused or not log.would_begin_transaction(producer_id, producer_epoch):
                continue
            if LOG_OVERHEAD + _unpack_length(records, LENGTH_POSITION)[0] != len(records):
                try:
                    check_shape(records, context.api_version)
                except AppendRefused:
                    continue  # the append refuses it, too, so it begins nothing
            beginning[where] = records
    return writers, beginning, unjudged


def _all_refused(request: ProduceRequest, code: ErrorCode) -> Produced:
    return [(topic, [PartitionResult(index, code) for index, _ in partitions]) for topic, partitions in request[3]]


def _refused(verdicts: Verdicts, unjudged: Verdicts, context: RequestContext) -> Verdicts:
    """Return the errors for the client, of the partitions where nothing is appended."""
    version = context.api_version
    judged = {where: produce_error(code, version) for where, code in verdicts.items() if code is not _NO_ERROR}
    return {**unjudged, **judged}


def _append_when_admitted(
    request: ProduceRequest,
    context: RequestContext,
    producer: _Producer,
    unjudged: Verdicts,
    admitted: asyncio.Future[Verdicts],
) -> Reply[Produced]:
    return reply_to(lambda: admitted, partial(_append_if_it_holds, request, context, producer, unjudged))


def _append_if_it_holds(
    request: ProduceRequest, context: RequestContext, producer: _Producer, unjudged: Verdicts, admitted: Verdicts
) -> Reply[Produced]:
    """Append after the coordinator's answer, only where it is still valid then."""
    taken = [where for where, code in admitted.items() if code is _NO_ERROR]
    verdicts = {**admitted, **confirm(context.services.transactions_of(producer[0]), *producer, taken)}
    return _append_all(request, context, _refused(verdicts, unjudged, context), producer)


def _append(
    topic: str, index: int, records: memoryview | None, acks: int, now_ms: int, context: RequestContext
) -> PartitionResult | Syncing | PendingValidation:
    """Append to one partition, now if possible; raise KafkaError when it is refused."""
    partitions = context.services.partitions
    log = partitions.get_led(topic, index)
    if records is None:
        raise AppendRefused(ErrorCode.INVALID_RECORD, "no batch")
    if log.answers_at_once and _ALL <= acks <= _LEADER and context.api_version >= PLAIN_SINCE_PRODUCE_VERSION:
        first_offset = partitions.append_plain(log, records, now_ms)
        if first_offset >= 0:
            appended = index, 0, first_offset, NO_TIMESTAMP, log.log_start_offset, (), None, None
            return _new_tuple(PartitionResult, appended)
    check_disk_space(log)
    if acks == _ALL:
        if not log.enough_replicas:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    elif acks not in (_NONE, _LEADER):
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    size = len(records)
    if (
        size > _WALKED_IN_PLACE_BYTES_MAX or (size >= HEADER_SIZE and records[_ATTRIBUTES_LOW_BYTE] & _CODEC_MASK)
    ) and log.needs_walk(records, now_ms):
        # Small batches without compression are walked in place, if the topic requires it.
        walked = context.services.batch_validations.walk(records, log, now_ms, context.api_version)
        if isinstance(walked, PendingValidation):
            return walked
        result = partitions.append_to(log, walked, now_ms, produce_version=context.api_version, walked=True)
    else:
        result = partitions.append_to(log, records, now_ms, produce_version=context.api_version)
    answer = PartitionResult(index, 0, result[0], result[2], result[3])
    synced = partitions.synced_log(log, result.last_offset + 1)
    if synced is None:
        return answer
    return Syncing(synced, answer, log, partitions.check_replicated if acks == _ALL else None)


def _note_refused(
    where: TopicPartition, records: Buffer | None, code: ErrorCode, acks: int, context: RequestContext
) -> None:
    """Note a refused batch that the client may retry: no later batch of its producer may overtake it."""
    if context.services.events.is_on:
        _report_refused(where, records, code, context)
    if records is None or acks == _NONE or not code.retriable or code is ErrorCode.CORRUPT_MESSAGE:
        return
    try:
        header = check_shape(records, context.api_version)
    except AppendRefused:
        return  # the append refuses it, whenever it is sent
    context.services.partitions.note_refused(*where, header, context.services.clock.now_ms())


def _report_refused(where: TopicPartition, records: Buffer | None, code: ErrorCode, context: RequestContext) -> None:
    producer_id, producer_epoch = -1, -1
    if records is not None and len(records) >= HEADER_SIZE:
        producer_id, producer_epoch = _unpack_producer(records, _PRODUCER_POSITION)
    facts = {"producer_id": producer_id, "producer_epoch": producer_epoch, "error": code.name}
    context.services.events.emit(PRODUCE_REFUSED, {"topic": where[0], "partition": where[1], **facts})


def _late_appends(acks: int, context: RequestContext, producer: _Producer | None) -> DeferredAppends:
    services = context.services
    confirm = services.partitions.check_replicated if acks == _ALL else None
    version = context.api_version
    check = partial(_check_late, acks, producer, context)
    note_refused = partial(_note_refused_late, acks, context)
    return DeferredAppends(
        services.partitions, services.batch_validations, services.clock, version, check, note_refused, confirm
    )


def _check_late(
    acks: int, producer: _Producer | None, context: RequestContext, log: PartitionLog, batch: bytearray
) -> None:
    """Check again what may have changed since the request came. Raises KafkaError."""
    check_disk_space(log)
    if acks == _ALL and not log.enough_replicas:
        raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    if producer is not None:
        _check_still_admitted(log, batch, producer, context)


def _note_refused_late(
    acks: int, context: RequestContext, log: PartitionLog, batch: bytearray, code: ErrorCode
) -> None:
    _note_refused((log.topic, log.partition), batch, code, acks, context)


def _check_still_admitted(log: PartitionLog, records: bytearray, producer: _Producer, context: RequestContext) -> None:
    """Raise KafkaError if the transaction has ended meanwhile."""
    _, producer_id, producer_epoch = producer
    if records[_ATTRIBUTES_LOW_BYTE] & _TRANSACTIONAL and not log.has_open_transaction(producer_id, producer_epoch):
        where = log.topic, log.partition
        code = confirm(context.services.transactions_of(producer[0]), *producer, [where])[where]
        if code is not _NO_ERROR:
            raise KafkaError(produce_error(code, context.api_version))
