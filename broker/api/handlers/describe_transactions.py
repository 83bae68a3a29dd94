"""DescribeTransactions (key 65), v0: the state of transactions, each by its transactional id.

An id that is not used is TRANSACTIONAL_ID_NOT_FOUND, an empty one INVALID_REQUEST; each id has its own error.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.coordinator.runtime.replies_after_sync import once_synced
from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from barnabas.storage.steps import Steps

_TRANSACTIONS = WorkClass()


def handle(
    request: DescribeTransactionsRequest, context: RequestContext
) -> DescribeTransactionsResponse | Future[DescribeTransactionsResponse]:
    return reply_to(
        lambda: context.services.request_scheduler.in_slices(lambda: _describe_all(request, context), _TRANSACTIONS),
        lambda response: once_synced(response, context.services.transactions.unsynced()),
    )


def _describe_all(request: DescribeTransactionsRequest, context: RequestContext) -> Steps[DescribeTransactionsResponse]:
    states = []
    for transactional_id in request.transactional_ids:
        states.append(_describe(transactional_id, context))
        yield
    return DescribeTransactionsResponse(transaction_states=states)


def _describe(transactional_id: str, context: RequestContext) -> TransactionState:
    try:
        txn = context.services.transactions.describe(transactional_id)
    except KafkaError as error:
        return _nothing(transactional_id, error.code)
    if txn is None:
        return _nothing(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return TransactionState(
        error_code=ErrorCode.NONE,
        transactional_id=transactional_id,
        transaction_state=txn.state.value,
        transaction_timeout_ms=txn.timeout_ms,
        transaction_start_time_ms=txn.start_timestamp_ms,
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        topics=_topics(txn),
    )


def _topics(txn: TransactionMetadata) -> list[TopicData]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(txn.partitions):
        topics.setdefault(topic, []).append(partition)
    return [TopicData(topic=topic, partitions=partitions) for topic, partitions in topics.items()]


def _nothing(transactional_id: str, code: ErrorCode) -> TransactionState:
    return TransactionState(
        error_code=code,
        transactional_id=transactional_id,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=0,
        producer_id=0,
        producer_epoch=0,
        topics=[],
    )
