"""Logs whose cleaning failed for a reason outside the log: when each may be retried. Pure.

The first retry comes soon, the next ones later and later: if the log itself is what makes the processes crash, the
other logs still get their turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from barnabas.broker.partitions.purgatory import PartitionKey

FIRST_MS: Final = 15_000
LONGEST_MS: Final = 3_600_000


class PutOff:
    """The logs that wait for a retry, by the clock of the caller."""

    def __init__(self) -> None:
        self._until: dict[PartitionKey, tuple[int, int]] = {}  # the time of the next retry, and its delay

    def add(self, key: PartitionKey, now_ms: int) -> int:
        """Note a failed cleaning and return the delay until the next retry, in milliseconds."""
        _, before_ms = self._until.get(key, (0, 0))
        delay_ms = min(2 * before_ms, LONGEST_MS) or FIRST_MS
        self._until[key] = now_ms + delay_ms, delay_ms
        return delay_ms

    def is_waiting(self, key: PartitionKey, now_ms: int) -> bool:
        """Return whether it is too early for another try."""
        return now_ms < self._until.get(key, (0, 0))[0]

    def forget(self, key: PartitionKey) -> None:
        """Forget a log: its cleaning succeeded, or the log is gone."""
        self._until.pop(key, None)
