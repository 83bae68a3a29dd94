"""What a producer is told while the data directory that it writes to is full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.storage.log.log import PartitionLog


def check_room(log: PartitionLog) -> None:
    """Before a client's batch is appended. KafkaError KAFKA_STORAGE_ERROR, with which clients come again."""
    reason = log.directory.disk.full_reason
    if reason is not None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)
