"""Errors of a partition instead of a result: an error code, and a message for it.

Expected refusals come as KafkaError, trouble with the disk as StorageError: `except REFUSALS as error: ...
refusal_code(error)`.
"""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

REFUSALS = (KafkaError, StorageError)
WORDS_MAX = 500
"""How many errors of a response have messages: a request names a partition in four bytes, a sentence takes hundreds."""
_WITHOUT_WORDS = {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS}


class NoSuchRequest(Exception):
    """A decoded request has numbers that make it invalid: Kafka closes the connection. str() names the number."""


def refusal_code(error: Exception) -> ErrorCode:
    """Return the error code for the client."""
    return error.code if isinstance(error, KafkaError) else ErrorCode.KAFKA_STORAGE_ERROR


def without_time(timeout_ms: int) -> KafkaError | None:
    """Return REQUEST_TIMED_OUT for a change with a timeout of 0 or less, which Kafka does not make; else None."""
    return KafkaError(ErrorCode.REQUEST_TIMED_OUT) if timeout_ms <= 0 else None


class Words:
    """The messages beside the error codes in one response."""

    def __init__(self) -> None:
        self._left = WORDS_MAX

    def of(self, refusal: KafkaError) -> str | None:
        """Return the error's message; None after the first WORDS_MAX, and where Kafka has none."""
        if refusal.code in _WITHOUT_WORDS:
            return None
        self._left -= 1
        return refusal.message if self._left >= 0 else None
