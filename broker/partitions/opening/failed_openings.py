"""Partitions that could not be opened, so that nobody reads a damaged log again and again.

Clients ask ten times a second. Damage stays until somebody acts: it is answered from here until the topic is deleted or
the broker started anew, which is what whoever restored a file does. Anything else (too many open files, a full disk, a
call that failed) may be over soon: it is tried again after a second, then after two, up to a minute; where the disk is
full, after each second.
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
    """By the monotonic clock; inf for good."""


class FailedOpenings:
    """The failures of one run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[PartitionKey, _Failure] = {}

    def check(self, key: PartitionKey) -> None:
        """KafkaError KAFKA_STORAGE_ERROR where opening it failed and is not to be tried again yet."""
        failure = self._failures.get(key)
        if failure is not None and self._clock.monotonic() < failure.until_s:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, failure.reason)

    def has(self, key: PartitionKey) -> bool:
        """Whether opening it failed, the last time that was tried."""
        return key in self._failures

    @property
    def reasons(self) -> dict[PartitionKey, str]:
        """Why each of them could not be opened."""
        return {key: failure.reason for key, failure in self._failures.items()}

    def note(self, key: PartitionKey, error: StorageError) -> None:
        """Opening it failed."""
        before = self._failures.get(key)
        if isinstance(error, CorruptFile):
            delay_s = inf
        else:
            delay_s = (
                RETRY_S if before is None or isinstance(error, DirectoryFull) else min(2 * before.delay_s, RETRY_MAX_S)
            )
        self._failures[key] = _Failure(str(error), delay_s, self._clock.monotonic() + delay_s)

    def forget(self, key: PartitionKey) -> None:
        """It is open, or gone."""
        self._failures.pop(key, None)
