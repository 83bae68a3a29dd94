"""Kafka's TokenBucket (KIP-599): it allows a burst, and then as much as is refilled per second.

Pure: the caller passes the time and the quota, which may have changed since the last call.
"""

from __future__ import annotations

from barnabas.broker.clients.quotas.sampled_rate import THROTTLE_MS_MAX, WindowSettings, rounded


class TokenBucket:
    """The tokens of one sharing: negative if more were taken than it had."""

    __slots__ = ("_settings", "_tokens", "_updated_ms")

    def __init__(self, settings: WindowSettings) -> None:
        """Create a full bucket: a burst is the amount that is refilled during all windows."""
        self._settings = settings
        self._tokens: float | None = None
        self._updated_ms = 0

    def tokens(self, rate: float, now_ms: int) -> float:
        """Return the number of tokens, with `rate` refilled per second."""
        burst = self._settings.windows * self._settings.size_ms / 1000 * rate
        before = burst if self._tokens is None else self._tokens
        self._tokens = min(burst, before + rate * (now_ms - self._updated_ms) / 1000)
        self._updated_ms = now_ms
        return self._tokens

    def take(self, count: float, rate: float, now_ms: int) -> None:
        """Take `count` tokens, whether they are available or not."""
        self._tokens = self.tokens(rate, now_ms) - count

    def throttle_ms(self, rate: float, now_ms: int) -> int:
        """Return the time in ms until the number of tokens is not negative."""
        tokens = self.tokens(rate, now_ms)
        return 0 if tokens >= 0 else rounded(min(-tokens / rate * 1000, THROTTLE_MS_MAX))
