"""AddPartitionsToTxn (key 24), v0-5: partitions take part in a transaction from now on, or: do they?

v0-3 are what clients of TV1 send, for one transaction. v4 and v5 are what brokers send one another, for many, each
to add or only to verify: TRANSACTION_ABORTABLE for a partition that is not in the transaction. Whichever, nothing is
added if any partition of the transaction does not exist: it gets UNKNOWN_TOPIC_OR_PARTITION, and the others
OPERATION_NOT_ATTEMPTED. Clients may not name internal topics (TOPIC_AUTHORIZATION_FAILED): their own way there is
AddOffsetsToTxn. Answers CONCURRENT_TRANSACTIONS, PRODUCER_FENCED (before v2: INVALID_PRODUCER_EPOCH),
INVALID_PRODUCER_ID_MAPPING for every partition alike. The decisions are in coordinator/transaction/adding.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Mapping, Sequence

from barnabas.broker.catalogue.image import INTERNAL_TOPICS
from barnabas.broker.context import RequestContext
from barnabas.broker.coordinator.additions import add_for_client
from barnabas.broker.coordinator.transaction.answers import code_in_version
from barnabas.broker.coordinator.transaction.model import EPOCH_BUMP_VERSION, AddRequest, TopicPartition
from barnabas.broker.replies import reply_to_all
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

_BATCHED_SINCE = 4

Codes = Mapping[TopicPartition, ErrorCode]


def handle(
    request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse | Future[AddPartitionsToTxnResponse]:
    transactions = _transactions(request, context.api_version)
    replies = [_answer(txn, context) for txn in transactions]

    def respond(answered: list[Codes | ErrorCode]) -> AddPartitionsToTxnResponse:
        return _response(transactions, answered, context)

    return reply_to_all(replies, respond, lambda refusal: refusal.code)


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


def _answer(txn: AddPartitionsToTxnTransaction, context: RequestContext) -> Codes | ErrorCode | Future[ErrorCode]:
    """A code per partition; or one for all of them, perhaps later."""
    partitions = [(topic.name, partition) for topic in txn.topics for partition in topic.partitions]
    refused = {partition: _refusal(partition, context) for partition in partitions}
    if any(refused.values()):
        return {partition: code or ErrorCode.OPERATION_NOT_ATTEMPTED for partition, code in refused.items()}
    is_batched = context.api_version >= _BATCHED_SINCE
    transactions = context.services.transactions
    producer = (txn.transactional_id, txn.producer_id, txn.producer_epoch)
    try:
        if txn.verify_only:
            return transactions.verify_partitions(*producer, partitions)
        asked = AddRequest(*producer, frozenset(partitions), EPOCH_BUMP_VERSION if is_batched else 0)
        return add_for_client(transactions, asked)
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
    transactions: Sequence[AddPartitionsToTxnTransaction],
    answered: Sequence[Codes | ErrorCode],
    context: RequestContext,
) -> AddPartitionsToTxnResponse:
    results = [
        AddPartitionsToTxnResult(
            transactional_id=txn.transactional_id,
            topic_results=[_topic_result(topic, codes, context) for topic in txn.topics],
        )
        for txn, codes in zip(transactions, answered, strict=True)
    ]
    if context.api_version >= _BATCHED_SINCE:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)


def _topic_result(
    topic: AddPartitionsToTxnTopic, codes: Codes | ErrorCode, context: RequestContext
) -> AddPartitionsToTxnTopicResult:
    def code(partition: int) -> ErrorCode:
        found = codes if isinstance(codes, ErrorCode) else codes[topic.name, partition]
        return code_in_version(found, context.api_key, context.api_version)

    return AddPartitionsToTxnTopicResult(
        name=topic.name,
        results_by_partition=[
            AddPartitionsToTxnPartitionResult(partition_index=partition, partition_error_code=code(partition))
            for partition in topic.partitions
        ],
    )
