# compiled: mypyc
"""AddPartitionsToTxn (key 24), v0-5: add partitions to a transaction, or verify that they are in it.

v0-3 are sent by clients of TV1, for one transaction. v4 and v5 are sent between brokers, for many, each to add or only
to verify: TRANSACTION_ABORTABLE for a partition that is not in the transaction. In all versions, nothing is added if
any partition of the transaction does not exist: it gets UNKNOWN_TOPIC_OR_PARTITION, and the others
OPERATION_NOT_ATTEMPTED. Clients may not name internal topics (TOPIC_AUTHORIZATION_FAILED): they use AddOffsetsToTxn.
Answers CONCURRENT_TRANSACTIONS, PRODUCER_FENCED (before v2: INVALID_PRODUCER_EPOCH), INVALID_PRODUCER_ID_MAPPING for
every partition alike. The decisions are in coordinator/transaction/decisions/adding.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Mapping, Sequence
from functools import partial

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
from barnabas.storage.steps import Pauses, Steps

_BATCHED_SINCE = 4
_ADDING = WorkClass(may_begin_again=False)
_TELLING = WorkClass()
_ONE_ADDITION = 20
"""As how many small operations one transaction counts: it may begin to load a partition of the coordinator's topic."""

Codes = Mapping[TopicPartition, ErrorCode]
Answered = Codes | ErrorCode
"""A code per partition; or one for all of them."""
PendingAnswer = Answered | Future[ErrorCode]


def handle(
    request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse | Future[AddPartitionsToTxnResponse]:
    slices = context.services.request_scheduler
    transactions = _transactions(request, context.api_version)
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
            for index in topic.partitions:
                where = topic.name, index
                partitions.append(where)
                if code := _refusal(where, context):
                    refused[where] = code
                if pauses.is_due():
                    yield
        if refused:
            replies.append({where: refused.get(where, ErrorCode.OPERATION_NOT_ATTEMPTED) for where in partitions})
        else:
            replies.append(as_current_request(partial(_answer, txn, partitions, context)))
        if between.is_due(_ONE_ADDITION + len(partitions)):
            yield
    return replies


def _answer(
    txn: AddPartitionsToTxnTransaction, partitions: list[TopicPartition], context: RequestContext
) -> PendingAnswer:
    is_batched = context.api_version >= _BATCHED_SINCE
    transactions = context.services.transactions
    producer = (txn.transactional_id, txn.producer_id, txn.producer_epoch)
    try:
        if txn.verify_only:
            return transactions.verify_partitions(*producer, partitions)
        requested = AddRequest(*producer, frozenset(partitions), EPOCH_BUMP_VERSION if is_batched else 0)
        return add_for_client(transactions, requested)
    except KafkaError as refusal:
        return refusal.code


def _refusal(partition: TopicPartition, context: RequestContext) -> ErrorCode:
    name, index = partition
    if name in INTERNAL_TOPICS and context.api_version < _BATCHED_SINCE:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topic = context.services.catalogue.topics.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


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
            for index in topic.partitions:
                code = codes if isinstance(codes, ErrorCode) else codes[topic.name, index]
                code = code_in_version(code, context.api_key, context.api_version)
                partitions.append(AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code))
                if pauses.is_due():
                    yield
    if context.api_version >= _BATCHED_SINCE:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)
