"""What an error means for a transaction: that it has to be aborted, or that its producer can do no more. Pure.

The verdicts are the Java client's (4.3). What may pass by itself was tried again before anybody asks here; if it still
stands at the deadline, it is judged like the rest, but for the end of a transaction, whose outcome is not known then.
"""

from __future__ import annotations

from enum import Enum

from barnabas.protocol.errors import ErrorCode, KafkaError


class TransactionAbortable(KafkaError):
    """The transaction failed and has to be aborted; then the producer goes on with the next one."""


class ProducerFatal(KafkaError):
    """This producer can do no more: another one took its place (PRODUCER_FENCED), or the broker does not let it."""

    @property
    def is_fenced(self) -> bool:
        """Whether another producer with the same transactional id took over."""
        return self.code in FENCED


class OutcomeUnknown(KafkaError):
    """No answer came to the end of a transaction in time: the same call, and only it, may be made again."""


class Call(Enum):
    """What was asked when the error came."""

    INIT = "InitProducerId"
    ADD = "AddPartitionsToTxn, AddOffsetsToTxn"
    PRODUCE = "Produce"
    COMMIT_OFFSETS = "TxnOffsetCommit"
    END = "EndTxn"


FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})
"""Both say the same; which of them a coordinator answers is a matter of the request's version."""

ID_LOST = frozenset({ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.UNKNOWN_PRODUCER_ID})
"""The coordinator does not know the producer any more, so that it cannot end its transaction either."""

_MEMBER_LOST = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
_ABORTABLE = {
    Call.INIT: frozenset({ErrorCode.TRANSACTION_ABORTABLE}),
    Call.ADD: ID_LOST
    | {ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED},
    Call.COMMIT_OFFSETS: ID_LOST
    | _MEMBER_LOST
    | {
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
    },
    Call.END: ID_LOST | {ErrorCode.TRANSACTION_ABORTABLE},
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


def verdict(call: Call, error: KafkaError) -> KafkaError:
    """The error as what it means for the producer: TransactionAbortable, ProducerFatal or OutcomeUnknown."""
    if error.code.retriable:
        kind: type[KafkaError] = OutcomeUnknown if call is Call.END else TransactionAbortable
    elif call is Call.PRODUCE:
        kind = ProducerFatal if error.code in _FATAL_FOR_PRODUCE else TransactionAbortable
    else:
        kind = TransactionAbortable if error.code in _ABORTABLE[call] else ProducerFatal
    return kind(error.code, error.message)
