# compiled: mypyc
"""Whether a transactional batch may begin on a partition: Produce and TxnOffsetCommit check this before they append.

Older clients have sent their partitions to the coordinator before (AddPartitionsToTxn), which is verified here; newer
ones have not, and the write itself adds its partitions (KIP-890). Either way a batch is appended to a partition only as
part of a transaction that its coordinator knows, so no transaction can hang.

In Kafka two brokers talk about this, and have to guard against changes in between. Here the verdict and the append that
it admits are in one turn of the event loop. A caller that leaves the loop in between (the record of an addition has to
be synced, a batch is walked in slices) calls `confirm` when it comes back.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from barnabas.broker.coordinator.transaction import partition_additions
from barnabas.broker.coordinator.transaction.decisions.model import EPOCH_BUMP_VERSION, AddRequest, TopicPartition
from barnabas.broker.runtime.replies import reply_to
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator

Verdicts: TypeAlias = Mapping[TopicPartition, ErrorCode]

PRODUCE_ADDS_SINCE = 12
"""From this version on Produce adds its partitions; before, the client did."""
OFFSET_COMMIT_ADDS_SINCE = 5
"""The same for TxnOffsetCommit."""

_NONE: Final = ErrorCode.NONE  # compiled, the look-up of an enum's member takes as long as a call
_PRODUCE_ABORTABLE_SINCE = 11
_OFFSET_COMMIT_ABORTABLE_SINCE = 4
_NOT_NOW = {
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


def admit(
    transactions: TransactionCoordinator,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: Collection[TopicPartition],
    *,
    adds: bool,
) -> Verdicts | Future[Verdicts]:
    """Return the coordinator's verdict for each partition, in its own codes; NONE if the batch may be appended.

    With `adds` the partitions belong to the transaction from now on. Then the result may be a future: it waits for the
    disk, or, for a short time, until the previous transaction is complete. Never raises.
    """
    if not adds:
        return confirm(transactions, transactional_id, producer_id, producer_epoch, partitions)
    request = AddRequest(transactional_id, producer_id, producer_epoch, frozenset(partitions), EPOCH_BUMP_VERSION)
    return reply_to(
        lambda: partition_additions.add(transactions, request),
        lambda code: dict.fromkeys(partitions, code),
        lambda refusal: dict.fromkeys(partitions, refusal.code),
    )


def add_at_once(
    transactions: TransactionCoordinator,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partition: TopicPartition,
) -> bool:
    """Add the partition, unless that has to wait for the disk or is refused: use `admit` then."""
    try:
        if not transactions.answers_at_once(transactional_id):
            return False
        request = AddRequest(transactional_id, producer_id, producer_epoch, frozenset((partition,)), EPOCH_BUMP_VERSION)
        return transactions.add_partitions(request, emits_refusal=False) is _NONE
    except KafkaError:
        return False


def confirm(
    transactions: TransactionCoordinator,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: Collection[TopicPartition],
) -> Verdicts:
    """Return whether each partition is in the transaction at this moment, as error codes. Never raises."""
    try:
        return transactions.verify_partitions(transactional_id, producer_id, producer_epoch, partitions)
    except KafkaError as refusal:
        return dict.fromkeys(partitions, refusal.code)


def produce_error(code: ErrorCode, version: int) -> ErrorCode:
    """Return Produce's error code for its client, from the coordinator's: section by section Kafka's table.

    NOT_ENOUGH_REPLICAS is the one code that every client retries on.
    """
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE:
        return code if version >= _PRODUCE_ABORTABLE_SINCE else ErrorCode.INVALID_TXN_STATE
    if code in _NOT_NOW or (code is ErrorCode.CONCURRENT_TRANSACTIONS and version < PRODUCE_ADDS_SINCE):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return code


def txn_offset_commit_error(code: ErrorCode, version: int) -> ErrorCode:
    """Return TxnOffsetCommit's error code for its client, from the coordinator's."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE:
        return code if version >= _OFFSET_COMMIT_ABORTABLE_SINCE else ErrorCode.INVALID_TXN_STATE
    if code is ErrorCode.NETWORK_EXCEPTION:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return code
