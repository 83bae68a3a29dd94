# compiled: mypyc
"""The decisions about AddPartitionsToTxn, AddOffsetsToTxn, additions by Produce (KIP-890), and verification."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.coordinator.runtime.transitions import Say
from barnabas.broker.coordinator.transaction.decisions.model import (
    AddRequest,
    TopicPartition,
    TransactionMetadata,
    TransactionOutcome,
)
from barnabas.broker.coordinator.transaction.decisions.next_state import moved, on, written
from barnabas.broker.coordinator.transaction.decisions.states import TransactionEvent, TransactionState
from barnabas.protocol.errors import ErrorCode

# Compiled, the look-up of an enum's member takes as long as a call.
_NONE: Final = ErrorCode.NONE
_ONGOING: Final = TransactionState.ONGOING
_ADDED: Final = TransactionEvent.ADDED
_VERIFIED: Final = TransactionEvent.VERIFIED


def add(txn: TransactionMetadata | None, request: AddRequest, *, now_ms: int) -> TransactionOutcome:
    """Decide whether the partitions become part of the producer's transaction; the reply is an error code."""
    if txn is None:
        return Outcome(reply=ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    meaning = on(txn.state, _ADDED)
    if isinstance(meaning, Say):
        return Outcome(reply=meaning.code)
    error = _holder_error(txn, request.producer_id, request.producer_epoch)
    if error is not _NONE:
        return Outcome(reply=error)
    is_ongoing = txn.state is _ONGOING
    if is_ongoing and request.partitions <= txn.partitions:
        return Outcome(reply=_NONE)
    after = moved(
        txn,
        _ADDED,
        now_ms=now_ms,
        partitions=txn.partitions | request.partitions,
        start_timestamp_ms=txn.start_timestamp_ms if is_ongoing else now_ms,
        client_transaction_version=request.client_transaction_version,
    )
    return written(after, _NONE)


def verify(
    txn: TransactionMetadata | None, producer_id: int, producer_epoch: int, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, ErrorCode]:
    """Return for each partition NONE if it is in the producer's transaction, TRANSACTION_ABORTABLE if it is not."""
    error = _verification_error(txn, producer_id, producer_epoch)
    if txn is None or error is not _NONE:
        return dict.fromkeys(partitions, error)
    return {
        partition: _NONE if partition in txn.partitions else ErrorCode.TRANSACTION_ABORTABLE for partition in partitions
    }


def _verification_error(txn: TransactionMetadata | None, producer_id: int, producer_epoch: int) -> ErrorCode:
    if txn is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    error = _holder_error(txn, producer_id, producer_epoch)
    if error is not _NONE:
        return error
    meaning = on(txn.state, _VERIFIED)
    return meaning.code if isinstance(meaning, Say) else _NONE


def _holder_error(txn: TransactionMetadata, producer_id: int, producer_epoch: int) -> ErrorCode:
    """Return the error of the producer, or NONE. A producer that kept a transaction may end it, not add to it."""
    holder_id, holder_epoch = txn.holder
    if producer_id != holder_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer_epoch != holder_epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.INVALID_TXN_STATE if txn.is_kept else _NONE
