"""The meaning of an error for a transaction: it must be aborted, or its producer cannot continue. Pure.

The verdicts are the Java client's (4.3). Retriable errors were retried before they come here; one that still persists
at the deadline is treated like the rest, except at the end of a transaction, whose outcome is then unknown.
"""

from __future__ import annotations

from enum import Enum

from barnabas.protocol.errors import ErrorCode, KafkaError


class TransactionAbortable(KafkaError):
    """The transaction failed and must be aborted; then the producer continues with the next one."""


class ProducerFatal(KafkaError):
    """A fatal error: another producer took over (PRODUCER_FENCED), or the broker does not permit the producer."""

    @property
    def is_fenced(self) -> bool:
        """Whether another producer with the same transactional id took over."""
        return self.code in FENCED


class OutcomeUnknown(KafkaError):
    """No response to the end of a transaction came in time: only the same call may be repeated."""


class TransactionRequest(Enum):
    """The request that got the error."""

    INIT = "InitProducerId"
    ADD = "AddPartitionsToTxn, AddOffsetsToTxn"
    PRODUCE = "Produce"
    COMMIT_OFFSETS = "TxnOffsetCommit"
    END = "EndTxn"


FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})
"""Both have the same meaning; the request's version determines which one a coordinator returns."""

ID_LOST = frozenset({ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.UNKNOWN_PRODUCER_ID})
"""The coordinator does not know the producer any more, so that it cannot end its transaction either."""

_MEMBER_LOST = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
_ABORTABLE = {
    TransactionRequest.INIT: frozenset({ErrorCode.TRANSACTION_ABORTABLE}),
    TransactionRequest.ADD: ID_LOST
    | {ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED},
    TransactionRequest.COMMIT_OFFSETS: ID_LOST
    | _MEMBER_LOST
    | {
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
    },
    TransactionRequest.END: ID_LOST | {ErrorCode.TRANSACTION_ABORTABLE},
}
_FATAL_FOR_PRODUCE = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)


def verdict(call: TransactionRequest, error: KafkaError) -> KafkaError:
    """Return the error as its meaning for the producer: TransactionAbortable, ProducerFatal or OutcomeUnknown."""
    if error.code.retriable:
        kind: type[KafkaError] = OutcomeUnknown if call is TransactionRequest.END else TransactionAbortable
    elif call is TransactionRequest.PRODUCE:
        kind = ProducerFatal if error.code in _FATAL_FOR_PRODUCE else TransactionAbortable
    else:
        kind = TransactionAbortable if error.code in _ABORTABLE[call] else ProducerFatal
    return kind(error.code, error.message)
