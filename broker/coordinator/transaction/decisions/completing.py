# compiled: mypyc
"""The end of a prepared transaction: its marker, and its completion when all partitions have that."""

from __future__ import annotations

from typing import Final

from barnabas.broker.coordinator.transaction.decisions.model import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Marker,
    TopicPartition,
    TransactionMetadata,
    TransactionOutcome,
)
from barnabas.broker.coordinator.transaction.decisions.next_state import moved, written
from barnabas.broker.coordinator.transaction.decisions.states import TransactionEvent, TransactionState

# Compiled, the look-up of an enum's member takes as long as a call.
_PREPARE_COMMIT: Final = TransactionState.PREPARE_COMMIT
_MARKED: Final = TransactionEvent.MARKED
_NO_PARTITIONS: Final[frozenset[TopicPartition]] = frozenset()
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


def marker(txn: TransactionMetadata) -> Marker:
    """Return the marker that every partition of a prepared transaction gets."""
    assert txn.state.is_prepared, f"{txn.transactional_id} is {txn.state.value}"
    return _new_tuple(Marker, (txn.producer_id, txn.producer_epoch, txn.state is _PREPARE_COMMIT))


def complete(txn: TransactionMetadata, *, now_ms: int) -> TransactionOutcome:
    """Decide what follows when every partition of a prepared transaction has its marker. The reply is None."""
    producer_id, producer_epoch = txn.successor
    # A kept transaction is ended by another producer than the one that began it: the previous id is the newer one's.
    was_kept = txn.next_producer_epoch != NO_PRODUCER_EPOCH
    completed = moved(
        txn,
        _MARKED,
        now_ms=now_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        previous_producer_id=txn.previous_producer_id if was_kept else txn.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        next_producer_epoch=NO_PRODUCER_EPOCH,
        partitions=_NO_PARTITIONS,
    )
    return written(completed)
