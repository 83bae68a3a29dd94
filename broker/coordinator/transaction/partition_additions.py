"""Adding partitions to a transaction; an addition waits a short time until the previous transaction is complete.

Additions by Produce and TxnOffsetCommit wait, as in Kafka (KIP-890). AddPartitionsToTxn and AddOffsetsToTxn get
CONCURRENT_TRANSACTIONS at once, as in Kafka, except where the coordinator's records are synced: there the response to
EndTxn is sent one round of syncs before the transaction is complete, and a client that gets the error backs off for
longer than that takes (the Java client and librdkafka for 20 ms). So these requests wait, too (docs/differences.md).
"""

from __future__ import annotations

from asyncio import Future, ensure_future
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.transaction.decisions.model import AddRequest
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator


def add(transactions: TransactionCoordinator, request: AddRequest) -> ErrorCode | Future[ErrorCode]:
    """Return the coordinator's reply: at once, once it is durable, or after the wait. Only the future may raise."""
    reply = _ask(transactions, request)
    return ensure_future(_in_time(transactions, request)) if reply is ErrorCode.CONCURRENT_TRANSACTIONS else reply


def add_for_client(transactions: TransactionCoordinator, request: AddRequest) -> ErrorCode | Future[ErrorCode]:
    """Return the reply to a client's own request to add: it waits as in `add` if replies wait for syncs. KafkaError."""
    reply = transactions.add_partitions(request)
    if reply is ErrorCode.CONCURRENT_TRANSACTIONS and not transactions.answers_at_once(request.transactional_id):
        return ensure_future(_in_time(transactions, request))
    return reply


async def _in_time(transactions: TransactionCoordinator, request: AddRequest) -> ErrorCode:
    """Retry whenever the previous transaction may be complete, until the time limit is reached."""
    config, clock = transactions.config, transactions.clock
    deadline = clock.monotonic() + config.add_partitions_retry_backoff_max_ms / 1000
    while clock.monotonic() < deadline:
        await transactions.completions.wait(request.transactional_id, config.add_partitions_retry_backoff_ms)
        reply = _ask(transactions, request)
        if isinstance(reply, Future):
            return await reply
        if reply is not ErrorCode.CONCURRENT_TRANSACTIONS:
            return reply
    return ErrorCode.CONCURRENT_TRANSACTIONS


def _ask(transactions: TransactionCoordinator, request: AddRequest) -> ErrorCode | Future[ErrorCode]:
    try:
        return transactions.add_partitions(request)
    except KafkaError as refusal:
        return refusal.code
