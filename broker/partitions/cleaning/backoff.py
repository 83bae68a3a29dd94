"""Logs whose cleaning ended by something that is not their fault: when each may be tried again. Pure.

The first time soon, then later and later: if it is the log after all that brings the processes down, the others have
their turns all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from barnabas.broker.partitions.purgatory import PartitionKey

FIRST_MS: Final = 15_000
LONGEST_MS: Final = 3_600_000


class PutOff:
    """Which logs wait, by the clock of the caller."""

    def __init__(self) -> None:
        self._until: dict[PartitionKey, tuple[int, int]] = {}  # when, and how long that was

    def add(self, key: PartitionKey, now_ms: int) -> int:
        """It failed. Returns how many milliseconds it waits now."""
        _, before_ms = self._until.get(key, (0, 0))
        delay_ms = min(2 * before_ms, LONGEST_MS) or FIRST_MS
        self._until[key] = now_ms + delay_ms, delay_ms
        return delay_ms

    def is_waiting(self, key: PartitionKey, now_ms: int) -> bool:
        """Whether it is too early for another try."""
        return now_ms < self._until.get(key, (0, 0))[0]

    def forget(self, key: PartitionKey) -> None:
        """It went well, or the log is gone."""
        self._until.pop(key, None)
