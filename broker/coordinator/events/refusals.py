"""The reason why a request about a transactional id was refused, in a sentence. Pure."""

from __future__ import annotations

from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata
from barnabas.broker.runtime.events.cause import Cause, RequestCause
from barnabas.protocol.errors import ErrorCode


def why_refused(error: ErrorCode, txn: TransactionMetadata | None, cause: Cause | None) -> str:
    """Return the reason. txn: its state at that time. cause: the request, if it is known."""
    requested = cause.request_fields if isinstance(cause, RequestCause) else {}
    given_id, given_epoch = requested.get("producer_id"), requested.get("producer_epoch")
    if txn is None:
        return "the broker does not know this transactional id"
    holder_id, holder_epoch = txn.holder
    match error:
        case ErrorCode.CONCURRENT_TRANSACTIONS if txn.state.is_prepared:
            return f"its transaction is {txn.state.value}: not all markers are written yet"
        case ErrorCode.CONCURRENT_TRANSACTIONS:
            return "its transaction is open, and is aborted first"
        case ErrorCode.INVALID_PRODUCER_ID_MAPPING if given_id is not None:
            return f"it has producer id {given_id}, but the transactional id has {holder_id} now"
        case ErrorCode.PRODUCER_FENCED | ErrorCode.INVALID_PRODUCER_EPOCH if given_epoch is not None:
            return f"it has producer epoch {given_epoch}, but the transactional id has {holder_epoch} now"
        case ErrorCode.PRODUCER_FENCED | ErrorCode.INVALID_PRODUCER_EPOCH:
            return f"the transactional id has producer {holder_id} epoch {holder_epoch} now"
        case ErrorCode.INVALID_TXN_STATE:
            return f"its transaction is {txn.state.value}"
        case _:
            return f"its transaction is {txn.state.value}, of producer {holder_id} epoch {holder_epoch}"
