"""The error that producers get while the data directory that they write to is full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.storage.log.log import PartitionLog


def check_disk_space(log: PartitionLog) -> None:
    """Raise KafkaError KAFKA_STORAGE_ERROR, which clients retry, if there is no space for a client's batch."""
    reason = log.directory.disk.full_reason
    if reason is not None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)
