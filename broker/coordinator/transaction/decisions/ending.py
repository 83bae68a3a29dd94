# compiled: mypyc
"""The decisions about EndTxn, and about the abort that fences: how a transaction becomes prepared.

Under TV1 the epoch stays; under TV2 the record that prepares the end already has the next epoch, so that the markers
and the next transaction have it too. An exhausted epoch is the exception: markers get 32767, and the next transaction
gets a new producer id with epoch 0, which the record names as the next one.

A kept transaction (KIP-939) is ended with the producer id and epoch of the producer that keeps it. Its markers have the
epoch after the epoch of the old producer, which began it; the next transaction has the epoch after the epoch of the new
one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.coordinator.runtime.transitions import Proceed, Say
from barnabas.broker.coordinator.transaction.decisions.model import (
    EPOCH_BUMP_VERSION,
    EXHAUSTED_PRODUCER_EPOCH,
    LAST_PRODUCER_EPOCH,
    NO_PRODUCER_EPOCH,
    EndReply,
    EndRequest,
    TransactionMetadata,
    TransactionOutcome,
    is_exhausted,
)
from barnabas.broker.coordinator.transaction.decisions.next_state import moved, on, written
from barnabas.broker.coordinator.transaction.decisions.states import TransactionEvent, TransactionState
from barnabas.protocol.errors import ErrorCode

# Compiled, the look-up of an enum's member takes as long as a call.
_NONE: Final = ErrorCode.NONE
_ONGOING: Final = TransactionState.ONGOING
_COMMITTED: Final = TransactionEvent.COMMITTED
_ABORTED: Final = TransactionEvent.ABORTED
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor

_TV1_CLIENT = 0
"""The client's transaction version in a transaction ended under TV1, at any feature level of the broker."""

_TV2_EVENTS = {
    # (commits, is a retry)
    (True, False): TransactionEvent.COMMITTED_CURRENT,
    (True, True): TransactionEvent.COMMITTED_RETRY,
    (False, False): TransactionEvent.ABORTED_CURRENT,
    (False, True): TransactionEvent.ABORTED_RETRY,
}


def end(
    txn: TransactionMetadata | None, request: EndRequest, *, now_ms: int, fresh_producer_id: Callable[[], int]
) -> TransactionOutcome:
    """Decide an EndTxn.

    `fresh_producer_id` is called when the epoch is exhausted; if it raises, nothing is decided.
    """
    if txn is None:
        return _refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if request.client_transaction_version < EPOCH_BUMP_VERSION:
        return _end_in_epoch(txn, request, now_ms)
    return _end_with_bump(txn, request, now_ms, fresh_producer_id)


def _end_in_epoch(txn: TransactionMetadata, request: EndRequest, now_ms: int) -> TransactionOutcome:
    """Decide under TV1: the epoch stays, and a retry cannot be distinguished from the first request."""
    holder_id, holder_epoch = txn.holder
    if request.producer_id != holder_id:
        return _refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if request.producer_epoch != holder_epoch:
        return _refused(ErrorCode.PRODUCER_FENCED)
    if txn.is_kept:  # the end raises the epoch, which this version of EndTxn cannot return
        return _refused(ErrorCode.UNSUPPORTED_VERSION)
    event = _COMMITTED if request.is_commit else _ABORTED
    meaning = on(txn.state, event)
    if isinstance(meaning, Say):
        return _refused(meaning.code)
    if isinstance(meaning, Proceed):
        return Outcome(reply=EndReply(_NONE, txn.producer_id, txn.producer_epoch))
    return _ended(moved(txn, event, now_ms=now_ms, client_transaction_version=_TV1_CLIENT))


def _end_with_bump(
    txn: TransactionMetadata, request: EndRequest, now_ms: int, fresh_producer_id: Callable[[], int]
) -> TransactionOutcome:
    """Decide under TV2: every end raises the epoch, so a retry has the previous epoch."""
    holder_id, holder_epoch = txn.holder
    rotated = (
        request.producer_id == txn.previous_producer_id
        and request.producer_epoch == EXHAUSTED_PRODUCER_EPOCH
        and holder_epoch == 0
    )
    is_retry = rotated or request.producer_epoch + 1 == holder_epoch != LAST_PRODUCER_EPOCH  # no producer gets it
    event = _TV2_EVENTS[request.is_commit, is_retry]
    if not txn.state.is_prepared:  # otherwise every request gets CONCURRENT_TRANSACTIONS
        if request.producer_id != holder_id and not rotated:
            return _refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if request.producer_epoch != holder_epoch and not is_retry:
            return _refused(ErrorCode.PRODUCER_FENCED)
    meaning = on(txn.state, event)
    if isinstance(meaning, Say):
        return _refused(meaning.code)
    if isinstance(meaning, Proceed):
        return Outcome(reply=EndReply(_NONE, txn.producer_id, txn.producer_epoch))
    return _ended(moved(txn, event, now_ms=now_ms, **_bumped(txn, now_ms, fresh_producer_id)))


def abort_for_fencing(
    txn: TransactionMetadata, *, now_ms: int, transaction_version: int, fresh_producer_id: Callable[[], int]
) -> TransactionOutcome:
    """Abort an open transaction that timed out, or whose producer is replaced by another.

    Uses the broker's own `transaction_version`, because there is no request. The producer is fenced from now on. The
    reply is None.
    """
    if transaction_version >= EPOCH_BUMP_VERSION or txn.is_kept:
        return written(moved(txn, TransactionEvent.FENCED, now_ms=now_ms, **_bumped(txn, now_ms, fresh_producer_id)))
    fenced = moved(
        txn,
        TransactionEvent.FENCED,
        now_ms=now_ms,
        producer_epoch=_next_epoch(txn),
        last_producer_epoch=NO_PRODUCER_EPOCH,
        client_transaction_version=_TV1_CLIENT,
    )
    return written(fenced)


def _bumped(txn: TransactionMetadata, now_ms: int, fresh_producer_id: Callable[[], int]) -> dict[str, Any]:
    """Return the fields that TV2 changes at the end of a transaction, also if there is none."""
    holder_id, holder_epoch = txn.holder
    changes: dict[str, Any] = {
        "producer_epoch": _next_epoch(txn),
        "last_producer_epoch": holder_epoch,
        "previous_producer_id": holder_id,
        "client_transaction_version": EPOCH_BUMP_VERSION,
    }
    if is_exhausted(holder_epoch):
        changes["next_producer_id"] = fresh_producer_id()
        changes["next_producer_epoch"] = 0 if txn.is_kept else NO_PRODUCER_EPOCH
    elif txn.is_kept:
        changes["next_producer_epoch"] = holder_epoch + 1
    if txn.state is not _ONGOING:
        changes["start_timestamp_ms"] = now_ms
    return changes


def _next_epoch(txn: TransactionMetadata) -> int:
    return min(txn.producer_epoch + 1, LAST_PRODUCER_EPOCH)


def _ended(txn: TransactionMetadata) -> TransactionOutcome:
    producer_id, producer_epoch = txn.successor
    return written(txn, _new_tuple(EndReply, (_NONE, producer_id, producer_epoch)))


def _refused(code: ErrorCode) -> TransactionOutcome:
    return Outcome(reply=EndReply(code))
