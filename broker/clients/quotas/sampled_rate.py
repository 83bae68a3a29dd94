"""The usage in the last windows of time: Kafka's SampledStat and Rate, and the throttle time until a rate falls.

Pure: the caller passes the time. A window begins when something is recorded, not by the clock: a window without records
does not exist. There is one window more than configured, the oldest, of which only a part still counts.

Invariants: no more than `count + 1` windows; usage is forgotten `count` windows after its window was last added to.
"""

from __future__ import annotations

from math import floor
from typing import Final, NamedTuple

THROTTLE_MS_MAX: Final = 0x7FFF_FFFF
"""The maximum value in an answer."""
_METRIC_WINDOW_MS: Final = 30_000
_METRIC_WINDOWS: Final = 2


class WindowSettings(NamedTuple):
    """The number of windows, and the length of each."""

    windows: int
    size_ms: int


class _Window:
    __slots__ = ("last_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.begin(now_ms)

    def begin(self, now_ms: int) -> None:
        """Empty the window and start it now."""
        self.start_ms = self.last_ms = now_ms
        self.value = 0.0


class SampledRate:
    """The usage by one sharing, in windows."""

    __slots__ = ("_current", "_settings", "_windows")

    def __init__(self, settings: WindowSettings) -> None:
        self._settings = settings
        self._windows: list[_Window] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """Record a usage of `value`; a negative value reverts earlier usage."""
        if not self._windows:
            self._windows.append(_Window(now_ms))
        window = self._windows[self._current]
        if now_ms - window.start_ms >= self._settings.size_ms:
            window = self._next(now_ms)
        window.value += value
        window.last_ms = now_ms

    def _next(self, now_ms: int) -> _Window:
        self._current = (self._current + 1) % (self._settings.windows + 1)
        if self._current == len(self._windows):
            self._windows.append(_Window(now_ms))
        else:
            self._windows[self._current].begin(now_ms)
        return self._windows[self._current]

    def total(self, now_ms: int) -> float:
        """Return the usage in the windows that count."""
        self._forget(now_ms)
        return sum(window.value for window in self._windows)

    def span_ms(self, now_ms: int) -> int:
        """Return the length of the windows that count in ms, at least all but one: so a first usage is no high rate."""
        self._forget(now_ms)
        count, size_ms = self._settings
        elapsed_ms = now_ms - min((window.start_ms for window in self._windows), default=now_ms)
        missing = count - 1 - elapsed_ms // size_ms
        return max(elapsed_ms + max(missing, 0) * size_ms, 1)

    def rate(self, now_ms: int) -> float:
        """Return the usage per second."""
        return self.total(now_ms) * 1000 / self.span_ms(now_ms)

    def throttle_ms(self, rate_max: float, now_ms: int, throttle_ms_max: int = THROTTLE_MS_MAX) -> int:
        """Return how many ms without usage are needed until the rate falls to `rate_max`; 0 if it is not above."""
        rate = self.rate(now_ms)
        if rate <= rate_max:
            return 0
        return rounded(min((rate - rate_max) / rate_max * self.span_ms(now_ms), throttle_ms_max))

    def _forget(self, now_ms: int) -> None:
        expired_ms = now_ms - self._settings.windows * self._settings.size_ms
        for window in self._windows:
            if window.last_ms <= expired_ms:
                window.begin(now_ms)


class Average:
    """The average of the values recorded in the last minute, as in Kafka's metrics."""

    __slots__ = ("_count", "_sum")

    def __init__(self) -> None:
        settings = WindowSettings(_METRIC_WINDOWS, _METRIC_WINDOW_MS)
        self._sum, self._count = SampledRate(settings), SampledRate(settings)

    def record(self, value: float, now_ms: int) -> None:
        """Record one more value."""
        self._sum.record(value, now_ms)
        self._count.record(1, now_ms)

    def value(self, now_ms: int) -> float:
        """Return the average, 0 if nothing was recorded."""
        count = self._count.total(now_ms)
        return self._sum.total(now_ms) / count if count else 0.0


def rounded(value: float) -> int:
    """Round like Java."""
    return floor(value + 0.5)
