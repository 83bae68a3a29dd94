"""What a partition may answer instead of doing what was asked, as an error code.

Expected refusals come as KafkaError, trouble with the disk as StorageError: `except REFUSALS as error: ...
refusal_code(error)`.
"""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

REFUSALS = (KafkaError, StorageError)


def refusal_code(error: Exception) -> ErrorCode:
    """The code a client is answered."""
    return error.code if isinstance(error, KafkaError) else ErrorCode.KAFKA_STORAGE_ERROR
