"""Kafka's TokenBucket (KIP-599): a burst is let through, and then as much as comes in again a second.

Pure: the caller says what time it is, and what the quota is, which may have changed since the last time.
"""

from __future__ import annotations

from barnabas.broker.clients.quotas.windows import THROTTLE_MS_MAX, WindowSettings, rounded


class TokenBucket:
    """The tokens of one user: below nothing when more was taken than there were."""

    __slots__ = ("_settings", "_tokens", "_updated_ms")

    def __init__(self, settings: WindowSettings) -> None:
        """It begins full: a burst is what comes in during all windows."""
        self._settings = settings
        self._tokens: float | None = None
        self._updated_ms = 0

    def tokens(self, rate: float, now_ms: int) -> float:
        """How many there are, where `rate` come in a second."""
        burst = self._settings.windows * self._settings.size_ms / 1000 * rate
        before = burst if self._tokens is None else self._tokens
        self._tokens = min(burst, before + rate * (now_ms - self._updated_ms) / 1000)
        self._updated_ms = now_ms
        return self._tokens

    def take(self, count: float, rate: float, now_ms: int) -> None:
        """So many are used, whether they are there or not."""
        self._tokens = self.tokens(rate, now_ms) - count

    def throttle_ms(self, rate: float, now_ms: int) -> int:
        """How long it takes until there are not less than none."""
        tokens = self.tokens(rate, now_ms)
        return 0 if tokens >= 0 else rounded(min(-tokens / rate * 1000, THROTTLE_MS_MAX))
