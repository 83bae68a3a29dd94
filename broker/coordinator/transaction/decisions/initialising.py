"""The decisions about InitProducerId of a transactional producer: which producer owns a transactional id from now on.

A producer that names no id and epoch is a new one and fences all previous ones. A producer that names its last id and
epoch (KIP-360) continues only if no other producer came in between, and gets the same reply to a retry.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.coordinator.runtime.transitions import Go, Say
from barnabas.broker.coordinator.transaction.decisions.ending import abort_for_fencing
from barnabas.broker.coordinator.transaction.decisions.model import (
    EPOCH_BUMP_VERSION,
    NO_PRODUCER_EPOCH,
    NO_TIMEOUT_MS,
    NO_TIMESTAMP,
    InitReply,
    InitRequest,
    TransactionConfig,
    TransactionMetadata,
    TransactionOutcome,
    is_exhausted,
)
from barnabas.broker.coordinator.transaction.decisions.next_state import moved, on, written
from barnabas.broker.coordinator.transaction.decisions.states import TransactionEvent, TransactionState
from barnabas.protocol.errors import ErrorCode


def refusal(request: InitRequest, *, config: TransactionConfig, transaction_version: int) -> ErrorCode:
    """Return the error of the request that does not depend on the transaction's state; NONE if there is none."""
    if request.enable_2pc and not config.two_phase_commit_enabled:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if request.keep_prepared and not (config.two_phase_commit_enabled and transaction_version >= EPOCH_BUMP_VERSION):
        return ErrorCode.UNSUPPORTED_VERSION
    if not request.enable_2pc and not 0 < request.timeout_ms <= config.max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NONE


def initialise(
    txn: TransactionMetadata | None,
    request: InitRequest,
    *,
    now_ms: int,
    config: TransactionConfig,
    transaction_version: int,
    fresh_producer_id: Callable[[], int],
) -> TransactionOutcome:
    """Decide an InitProducerId. `txn` is None for an unknown id. Raises what `fresh_producer_id` raises."""
    error = refusal(request, config=config, transaction_version=transaction_version)
    if error is not ErrorCode.NONE:
        return _refused(error)
    if txn is None:
        txn = _unborn(request, fresh_producer_id(), now_ms)
    event = TransactionEvent.INITIALISED_KEEPING if request.keep_prepared else TransactionEvent.INITIALISED
    meaning = on(txn.state, event)
    if isinstance(meaning, Say):
        return _refused(meaning.code)
    if not _may_ask(txn, request):
        return _refused(ErrorCode.PRODUCER_FENCED)
    assert isinstance(meaning, Go)
    if meaning.state is TransactionState.PREPARE_ABORT:
        outcome = abort_for_fencing(
            txn, now_ms=now_ms, transaction_version=transaction_version, fresh_producer_id=fresh_producer_id
        )
        # The producer retries, and gets its epoch when the abort is complete.
        return Outcome(
            records=outcome.records, reply=InitReply(ErrorCode.CONCURRENT_TRANSACTIONS), effects=outcome.effects
        )
    if meaning.state is TransactionState.ONGOING:
        return _keep(txn, request, now_ms, fresh_producer_id)
    return _begin(txn, request, event, now_ms, fresh_producer_id)


def _unborn(request: InitRequest, producer_id: int, now_ms: int) -> TransactionMetadata:
    """Return the transaction of an id before its first epoch; it is never stored."""
    return TransactionMetadata(
        transactional_id=request.transactional_id,
        producer_id=producer_id,
        producer_epoch=NO_PRODUCER_EPOCH,
        timeout_ms=request.timeout_ms,
        state=TransactionState.EMPTY,
        last_update_timestamp_ms=now_ms,
    )


def _may_ask(txn: TransactionMetadata, request: InitRequest) -> bool:
    """Return whether the producer id of the request is one that this transactional id may have."""
    if not request.is_known_producer or txn.producer_epoch == NO_PRODUCER_EPOCH:
        return True
    if request.producer_id == txn.previous_producer_id and is_exhausted(request.producer_epoch):
        return True
    return request.producer_id == txn.holder[0]


def _begin(
    txn: TransactionMetadata,
    request: InitRequest,
    event: TransactionEvent,
    now_ms: int,
    fresh_producer_id: Callable[[], int],
) -> TransactionOutcome:
    """Give the producer the next epoch, or a new id; no transaction is open."""
    stored_epoch = txn.producer_epoch
    producer_id, producer_epoch = txn.producer_id, stored_epoch + 1
    last_producer_epoch = stored_epoch if request.is_known_producer else NO_PRODUCER_EPOCH
    if request.is_known_producer and stored_epoch not in (NO_PRODUCER_EPOCH, request.producer_epoch):
        if request.producer_epoch != txn.last_producer_epoch:
            return _refused(ErrorCode.PRODUCER_FENCED)
        producer_epoch, last_producer_epoch = stored_epoch, txn.last_producer_epoch  # a retry: the reply was lost
    elif is_exhausted(stored_epoch):
        producer_id, producer_epoch = fresh_producer_id(), 0
    after = moved(
        txn,
        event,
        now_ms=now_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        last_producer_epoch=last_producer_epoch,
        timeout_ms=NO_TIMEOUT_MS if request.enable_2pc else request.timeout_ms,
        start_timestamp_ms=NO_TIMESTAMP,
    )
    return written(after, InitReply(ErrorCode.NONE, producer_id, producer_epoch))


def _keep(
    txn: TransactionMetadata, request: InitRequest, now_ms: int, fresh_producer_id: Callable[[], int]
) -> TransactionOutcome:
    """Keep the open transaction: the producer takes it over, with a higher epoch than any before.

    The transaction keeps its timeout and the id and epoch it began with, by which the client that prepared it knows it.
    """
    holder_id, holder_epoch = txn.holder
    if request.is_known_producer and request.producer_epoch != holder_epoch:
        return _refused(ErrorCode.PRODUCER_FENCED)
    next_id, next_epoch = (fresh_producer_id(), 0) if is_exhausted(holder_epoch) else (holder_id, holder_epoch + 1)
    after = moved(
        txn,
        TransactionEvent.INITIALISED_KEEPING,
        now_ms=now_ms,
        next_producer_id=next_id,
        next_producer_epoch=next_epoch,
    )
    reply = InitReply(
        ErrorCode.NONE,
        producer_id=next_id,
        producer_epoch=next_epoch,
        ongoing_producer_id=txn.producer_id,
        ongoing_producer_epoch=txn.producer_epoch,
    )
    return written(after, reply)


def _refused(code: ErrorCode) -> TransactionOutcome:
    return Outcome(reply=InitReply(code))
