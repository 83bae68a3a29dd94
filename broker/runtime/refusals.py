"""What a partition may answer instead of doing what was asked: an error code, and words to go with it.

Expected refusals come as KafkaError, trouble with the disk as StorageError: `except REFUSALS as error: ...
refusal_code(error)`.
"""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

REFUSALS = (KafkaError, StorageError)
WORDS_MAX = 500
"""How many refusals of one answer have words: a request names a partition in four bytes, a sentence takes hundreds."""
_WITHOUT_WORDS = {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS}


class NoSuchRequest(Exception):
    """What was decoded has numbers in it that make it no request: Kafka closes the connection. str() says which."""


def refusal_code(error: Exception) -> ErrorCode:
    """The code a client is answered."""
    return error.code if isinstance(error, KafkaError) else ErrorCode.KAFKA_STORAGE_ERROR


def without_time(timeout_ms: int) -> KafkaError | None:
    """REQUEST_TIMED_OUT for a change that is given no time, and so is not made in Kafka."""
    return KafkaError(ErrorCode.REQUEST_TIMED_OUT) if timeout_ms <= 0 else None


class Words:
    """The words that go with the codes in one answer."""

    def __init__(self) -> None:
        self._left = WORDS_MAX

    def of(self, refusal: KafkaError) -> str | None:
        """The refusal's message; None once there were enough, and where Kafka has none."""
        if refusal.code in _WITHOUT_WORDS:
            return None
        self._left -= 1
        return refusal.message if self._left >= 0 else None
