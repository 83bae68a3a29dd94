# compiled: mypyc
"""Which transactions have timed out, and which unused transactional ids expire: decided at intervals of the clock."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.coordinator.runtime.transitions import Go
from barnabas.broker.coordinator.transaction.decisions.model import (
    NO_TIMEOUT_MS,
    TransactionConfig,
    TransactionMetadata,
    TransactionOutcome,
    TransactionStored,
)
from barnabas.broker.coordinator.transaction.decisions.states import TABLE, TransactionEvent, TransactionState


def until_timeout_ms(transactions: Iterable[TransactionMetadata], now_ms: int, interval_ms: int) -> float:
    """Return the time in ms, a multiple of the interval, until the first open transaction has timed out."""
    first_ms = min((txn.start_timestamp_ms + txn.timeout_ms for txn in transactions if _may_time_out(txn)), default=inf)
    return inf if first_ms == inf else max(1, (first_ms - now_ms) // interval_ms + 1) * interval_ms


def timed_out(txn: TransactionMetadata, now_ms: int) -> bool:
    """Return whether the transaction is open for longer than its timeout; one of a two-phase commit never times out."""
    return _may_time_out(txn) and txn.start_timestamp_ms + txn.timeout_ms < now_ms


def _may_time_out(txn: TransactionMetadata) -> bool:
    return txn.state is TransactionState.ONGOING and txn.timeout_ms != NO_TIMEOUT_MS


def expired(txn: TransactionMetadata, now_ms: int, config: TransactionConfig) -> TransactionOutcome | None:
    """Return the outcome that removes an id unused for the expiration time; None while the id stays."""
    is_idle = isinstance(TABLE[txn.state, TransactionEvent.EXPIRED], Go)
    if not is_idle or txn.last_update_timestamp_ms > now_ms - config.expiration_ms:
        return None
    return Outcome(records=(TransactionStored(txn.transactional_id, None),))
