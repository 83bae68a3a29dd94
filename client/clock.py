"""Time for the client: what is now, waiting, and deadlines. Tests put their own in."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where the client gets its time."""

    def now_ms(self) -> int:
        """Wall clock, ms since 1970, for timestamps of records."""

    def monotonic(self) -> float:
        """Seconds since some moment, for deadlines."""

    def sleep(self, seconds: float) -> None:
        """Let time pass."""


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Deadline:
    """A moment after which something is given up."""

    __slots__ = ("_at", "_clock")

    def __init__(self, clock: Clock, timeout_ms: float) -> None:
        self._clock = clock
        self._at = clock.monotonic() + timeout_ms / 1000

    def after(self, timeout_ms: float) -> Deadline:
        """Another one on the same clock, so long from now."""
        return Deadline(self._clock, timeout_ms)

    @property
    def left_s(self) -> float:
        """Seconds until then, never below 0."""
        return max(0.0, self._at - self._clock.monotonic())

    @property
    def left_ms(self) -> int:
        """Milliseconds until then, never below 0."""
        return int(self.left_s * 1000)

    @property
    def is_over(self) -> bool:
        """Whether the moment has come."""
        return self.left_s <= 0
