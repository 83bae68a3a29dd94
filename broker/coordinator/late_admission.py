"""Admitting a transactional batch whose coordinator cannot say at once whether it may begin on its partition.

The record of the addition has to be on the disk, or the transaction before is still being finished: then it is asked
again as soon as that is over, for a limited time. What is asked, and what the answer means, is `verification.py`'s.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.transaction.model import AddRequest, TopicPartition
from barnabas.broker.replies import Reply
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.coordinator.transactions import TransactionCoordinator


async def admitted_in_time(
    transactions: TransactionCoordinator, request: AddRequest, reply: Reply[ErrorCode]
) -> Mapping[TopicPartition, ErrorCode]:
    """The answer of an addition that has to be waited for, or is asked for again until the time for that is over."""
    config, clock = transactions.config, transactions.clock
    deadline = clock.monotonic() + config.add_partitions_retry_backoff_max_ms / 1000
    code = await _code_of(lambda: reply)
    while code is ErrorCode.CONCURRENT_TRANSACTIONS and clock.monotonic() < deadline:
        await transactions.completions.wait(request.transactional_id, config.add_partitions_retry_backoff_ms)
        code = await _code_of(lambda: transactions.add_partitions(request))
    return dict.fromkeys(request.partitions, code)


async def _code_of(ask: Callable[[], Reply[ErrorCode]]) -> ErrorCode:
    try:
        reply = ask()
        return await reply if isinstance(reply, Future) else reply
    except KafkaError as refusal:
        return refusal.code
