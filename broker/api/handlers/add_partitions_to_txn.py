# compiled: mypyc
"""AddPartitionsToTxn (key 24), v0-5: add partitions to a transaction, or verify that they are in it.

v0-3 are sent by clients of TV1, for one transaction. v4 and v5 are sent between brokers, for many, each to add or only
to verify: TRANSACTION_ABORTABLE for a partition that is not in the transaction. In all versions, nothing is added if
any partition of the transaction does not exist: it gets UNKNOWN_TOPIC_OR_PARTITION, and the others
OPERATION_NOT_ATTEMPTED. Clients may not name internal topics (TOPIC_AUTHORIZATION_FAILED): they use AddOffsetsToTxn.
Answers CONCURRENT_TRANSACTIONS, PRODUCER_FENCED (before v2: INVALID_PRODUCER_EPOCH), INVALID_PRODUCER_ID_MAPPING for
every partition alike. The decisions are in coordinator/transaction/decisions/adding.

Nearly every transaction of an older client begins with a request of few partitions: it is served in one step.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.coordinator.transaction.decisions.error_codes import code_in_version
from barnabas.broker.coordinator.transaction.decisions.model import EPOCH_BUMP_VERSION, AddRequest, TopicPartition
from barnabas.broker.coordinator.transaction.partition_additions import add_for_client
from barnabas.broker.metadata.image.image import INTERNAL_TOPICS
from barnabas.broker.runtime.replies import Reply, reply_to, reply_to_all
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from barnabas.storage.steps import AT_ONCE, Pauses, Steps

_BATCHED_SINCE = 4
_ADDING = WorkClass(may_begin_again=False)
_TELLING = WorkClass()
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor
_ONE_ADDITION = 20
"""As how many small operations one transaction counts: it may begin to load a partition of the coordinator's topic."""

Codes = Mapping[TopicPartition, ErrorCode]
Answered = Codes | ErrorCode
"""A code per partition; or one for all of them."""
PendingAnswer = Answered | Future[ErrorCode]


def handle(
    request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse | Future[AddPartitionsToTxnResponse]:
    transactions = _transactions(request, context.api_version)
    if context.api_version < _BATCHED_SINCE and _is_small(transactions[0]):
        return _handle_small(transactions[0], context)
    return _handle_in_steps(transactions, context)


def _handle_in_steps(
    transactions: Sequence[AddPartitionsToTxnTransaction], context: RequestContext
) -> Reply[AddPartitionsToTxnResponse]:
    slices = context.services.request_scheduler
    return reply_to(
        lambda: slices.to_the_end(lambda: _answer_all(transactions, context), _ADDING),
        lambda replies: _respond(transactions, replies, context),
    )


def _respond(
    transactions: Sequence[AddPartitionsToTxnTransaction], replies: Sequence[PendingAnswer], context: RequestContext
) -> Reply[AddPartitionsToTxnResponse]:
    """Return the response once all transactions are answered."""
    slices = context.services.request_scheduler
    return reply_to(
        lambda: reply_to_all(replies, _themselves, lambda refusal: refusal.code),
        lambda answered: slices.in_slices(lambda: _response(transactions, answered, context), _TELLING),
    )


def _is_small(txn: AddPartitionsToTxnTransaction) -> bool:
    """Return whether its partitions are few enough for one step."""
    room = AT_ONCE
    for topic in txn.topics:
        room -= 1 + len(topic.partitions)
        if room < 0:
            return False
    return True


def _handle_small(txn: AddPartitionsToTxnTransaction, context: RequestContext) -> Reply[AddPartitionsToTxnResponse]:
    partitions: list[TopicPartition] = []
    refused: dict[TopicPartition, ErrorCode] = {}
    for topic in txn.topics:
        _look_up(topic.name, topic.partitions, partitions, refused, context)
    answer = _refusals(partitions, refused) if refused else _answer(txn, partitions, context)
    if isinstance(answer, Future):
        return _small_response_later(txn, context, answer)
    return _small_response(txn, context, answer)


def _small_response_later(
    txn: AddPartitionsToTxnTransaction, context: RequestContext, answer: Future[ErrorCode]
) -> Reply[AddPartitionsToTxnResponse]:
    return reply_to(
        lambda: answer,
        partial(_small_response, txn, context),
        lambda refusal: _small_response(txn, context, refusal.code),
    )


def _small_response(
    txn: AddPartitionsToTxnTransaction, context: RequestContext, answered: Answered
) -> AddPartitionsToTxnResponse:
    topics = [
        AddPartitionsToTxnTopicResult(
            name=topic.name, results_by_partition=_results(topic.name, topic.partitions, answered, context)
        )
        for topic in txn.topics
    ]
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)


def _themselves(answered: list[Answered]) -> list[Answered]:
    return answered


def _transactions(request: AddPartitionsToTxnRequest, version: int) -> Sequence[AddPartitionsToTxnTransaction]:
    if version >= _BATCHED_SINCE:
        return request.transactions
    return [
        AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
    ]


def _answer_all(
    transactions: Sequence[AddPartitionsToTxnTransaction], context: RequestContext
) -> Steps[list[PendingAnswer]]:
    """Return the answer for each transaction, or a future of it. Each is added to at once, or not at all."""
    replies: list[PendingAnswer] = []
    as_current_request, between = keep_current_request(context.services), Pauses()
    for txn in transactions:
        pauses = Pauses()
        partitions: list[TopicPartition] = []
        refused: dict[TopicPartition, ErrorCode] = {}
        for topic in txn.topics:
            for some in _pieces(topic.partitions):
                _look_up(topic.name, some, partitions, refused, context)
                if pauses.is_due(len(some)):
                    yield
        if refused:
            replies.append(_refusals(partitions, refused))
        else:
            replies.append(as_current_request(partial(_answer, txn, partitions, context)))
        if between.is_due(_ONE_ADDITION + len(partitions)):
            yield
    return replies


def _pieces(indexes: list[int]) -> list[list[int]]:
    """Return the numbers of a topic's partitions, as many in each list as one step takes."""
    if len(indexes) <= AT_ONCE:
        return [indexes]
    return [indexes[first : first + AT_ONCE] for first in range(0, len(indexes), AT_ONCE)]


def _look_up(
    name: str,
    indexes: list[int],
    partitions: list[TopicPartition],
    refused: dict[TopicPartition, ErrorCode],
    context: RequestContext,
) -> None:
    """Add partitions of a topic to `partitions`, and those that may not be added to `refused`, too."""
    if name in INTERNAL_TOPICS and context.api_version < _BATCHED_SINCE:
        code, count = ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0
    else:
        topic = context.services.catalogue.topics.get(name)
        code, count = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0 if topic is None else len(topic.partitions)
    for index in indexes:
        where = name, index
        partitions.append(where)
        if not 0 <= index < count:
            refused[where] = code


def _refusals(partitions: list[TopicPartition], refused: dict[TopicPartition, ErrorCode]) -> Codes:
    """Return the code of each partition where some are refused."""
    return {where: refused.get(where, ErrorCode.OPERATION_NOT_ATTEMPTED) for where in partitions}


def _answer(
    txn: AddPartitionsToTxnTransaction, partitions: list[TopicPartition], context: RequestContext
) -> PendingAnswer:
    is_batched = context.api_version >= _BATCHED_SINCE
    transactions = context.services.transactions
    producer = (txn.transactional_id, txn.producer_id, txn.producer_epoch)
    try:
        if txn.verify_only:
            return transactions.verify_partitions(*producer, partitions)
        fields = *producer, frozenset(partitions), EPOCH_BUMP_VERSION if is_batched else 0
        requested = _new_tuple(AddRequest, fields)
        return add_for_client(transactions, requested)
    except KafkaError as refusal:
        return refusal.code


def _response(
    transactions: Sequence[AddPartitionsToTxnTransaction], answered: Sequence[Answered], context: RequestContext
) -> Steps[AddPartitionsToTxnResponse]:
    results: list[AddPartitionsToTxnResult] = []
    pauses = Pauses()
    for txn, codes in zip(transactions, answered, strict=True):
        topics: list[AddPartitionsToTxnTopicResult] = []
        results.append(AddPartitionsToTxnResult(transactional_id=txn.transactional_id, topic_results=topics))
        for topic in txn.topics:
            partitions: list[AddPartitionsToTxnPartitionResult] = []
            topics.append(AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=partitions))
            for some in _pieces(topic.partitions):
                partitions += _results(topic.name, some, codes, context)
                if pauses.is_due(len(some)):
                    yield
    if context.api_version >= _BATCHED_SINCE:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)


def _results(
    name: str, indexes: list[int], codes: Answered, context: RequestContext
) -> list[AddPartitionsToTxnPartitionResult]:
    """Return the results of partitions of a topic."""
    if isinstance(codes, ErrorCode):
        known = code_in_version(codes, context.api_key, context.api_version)
        return [AddPartitionsToTxnPartitionResult(partition_index=each, partition_error_code=known) for each in indexes]
    return [
        AddPartitionsToTxnPartitionResult(
            partition_index=index,
            partition_error_code=code_in_version(codes[name, index], context.api_key, context.api_version),
        )
        for index in indexes
    ]
