"""What happens to a transaction without a request: its markers, its completion, its timeout, and the end of its id."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.coordinator.runtime.transitions import Go
from barnabas.broker.coordinator.transaction.decisions.model import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMEOUT_MS,
    Marker,
    Transaction,
    TransactionConfig,
    TransactionOutcome,
    TransactionStored,
)
from barnabas.broker.coordinator.transaction.decisions.moving import moved, written
from barnabas.broker.coordinator.transaction.decisions.states import TABLE, Event, TransactionState


def marker(txn: Transaction) -> Marker:
    """What every partition of a prepared transaction gets."""
    assert txn.state.is_prepared, f"{txn.transactional_id} is {txn.state.value}"
    return Marker(txn.producer_id, txn.producer_epoch, txn.state is TransactionState.PREPARE_COMMIT)


def complete(txn: Transaction, *, now_ms: int) -> TransactionOutcome:
    """Decide what follows when every partition of a prepared transaction has its marker. The reply is None."""
    producer_id, producer_epoch = txn.successor
    # What was kept was ended by another producer than began it: its id, not the older one, is the one before the next.
    was_kept = txn.next_producer_epoch != NO_PRODUCER_EPOCH
    completed = moved(
        txn,
        Event.MARKED,
        now_ms=now_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        previous_producer_id=txn.previous_producer_id if was_kept else txn.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        next_producer_epoch=NO_PRODUCER_EPOCH,
        partitions=frozenset(),
    )
    return written(completed)


def until_timeout_ms(transactions: Iterable[Transaction], now_ms: int, interval_ms: int) -> float:
    """How many milliseconds, whole intervals, until the first of those that are open has taken too long."""
    first_ms = min((txn.start_timestamp_ms + txn.timeout_ms for txn in transactions if _may_time_out(txn)), default=inf)
    return inf if first_ms == inf else max(1, (first_ms - now_ms) // interval_ms + 1) * interval_ms


def timed_out(txn: Transaction, now_ms: int) -> bool:
    """Whether the transaction is open for longer than its producer asked for; one of a two-phase commit never is."""
    return _may_time_out(txn) and txn.start_timestamp_ms + txn.timeout_ms < now_ms


def _may_time_out(txn: Transaction) -> bool:
    return txn.state is TransactionState.ONGOING and txn.timeout_ms != NO_TIMEOUT_MS


def expired(txn: Transaction, now_ms: int, config: TransactionConfig) -> TransactionOutcome | None:
    """The outcome that removes an id nobody used for long; None while it is to be kept."""
    is_idle = isinstance(TABLE[txn.state, Event.EXPIRED], Go)
    if not is_idle or txn.last_update_timestamp_ms > now_ms - config.expiration_ms:
        return None
    return Outcome(records=(TransactionStored(txn.transactional_id, None),))
