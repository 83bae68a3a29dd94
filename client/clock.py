"""Time for the client: the current time, sleeping, and deadlines. Tests use their own clock."""

from __future__ import annotations

import time
from typing import Protocol


class ClientClock(Protocol):
    """The source of time for the client."""

    def now_ms(self) -> int:
        """Return the wall-clock time, ms since 1970, for timestamps of records."""

    def monotonic(self) -> float:
        """Return the seconds since an arbitrary moment, for deadlines."""

    def sleep(self, seconds: float) -> None:
        """Sleep."""


class SystemClientClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: TID251  # this is the Clock


class Deadline:
    """The moment at which an operation times out."""

    __slots__ = ("_at", "_clock")

    def __init__(self, clock: ClientClock, timeout_ms: float) -> None:
        self._clock = clock
        self._at = clock.monotonic() + timeout_ms / 1000

    def after(self, timeout_ms: float) -> Deadline:
        """Return another deadline on the same clock, `timeout_ms` from now."""
        return Deadline(self._clock, timeout_ms)

    @property
    def left_s(self) -> float:
        """The seconds left, never below 0."""
        return max(0.0, self._at - self._clock.monotonic())

    @property
    def left_ms(self) -> int:
        """The milliseconds left, never below 0."""
        return int(self.left_s * 1000)

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.left_s <= 0
