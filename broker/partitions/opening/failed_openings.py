"""Partitions that could not be opened, so that a damaged log is not read again and again.

Clients retry ten times a second. Damage stays until an operator acts: the error is returned from here until the topic
is deleted or the broker is restarted, which an operator who has restored a file does. Any other failure (too many open
files, a full disk, a call that failed) may be temporary: opening is retried after a second, then after two, up to a
minute; where the disk is full, after each second.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import CorruptFile, DirectoryFull, StorageError

if TYPE_CHECKING:
    from barnabas.broker.partitions.purgatory import PartitionKey
    from barnabas.broker.runtime.clock import Clock

RETRY_S = 1.0
RETRY_MAX_S = 64.0


class _Failure(NamedTuple):
    reason: str
    delay_s: float
    until_s: float
    """The time of the next try by the monotonic clock; inf for never."""


class FailedOpenings:
    """The failures of one run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[PartitionKey, _Failure] = {}

    def check(self, key: PartitionKey) -> None:
        """Raise KafkaError KAFKA_STORAGE_ERROR if opening the partition failed and may not be retried yet."""
        failure = self._failures.get(key)
        if failure is not None and self._clock.monotonic() < failure.until_s:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, failure.reason)

    def has(self, key: PartitionKey) -> bool:
        """Return whether the last attempt to open the partition failed."""
        return key in self._failures

    @property
    def reasons(self) -> dict[PartitionKey, str]:
        """The reason of each partition's failure."""
        return {key: failure.reason for key, failure in self._failures.items()}

    def note(self, key: PartitionKey, error: StorageError) -> None:
        """Note that opening the partition failed."""
        before = self._failures.get(key)
        if isinstance(error, CorruptFile):
            delay_s = inf
        else:
            delay_s = (
                RETRY_S if before is None or isinstance(error, DirectoryFull) else min(2 * before.delay_s, RETRY_MAX_S)
            )
        self._failures[key] = _Failure(str(error), delay_s, self._clock.monotonic() + delay_s)

    def forget(self, key: PartitionKey) -> None:
        """Forget the failure: the partition is open, or gone."""
        self._failures.pop(key, None)
