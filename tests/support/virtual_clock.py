"""A clock that stands still until a test moves it: a week passes in no time, and everything due runs in order."""

from collections.abc import Callable

from barnabas.broker.runtime.clock import Timer, TimerQueue


class VirtualClock:
    """A `barnabas.broker.runtime.clock.Clock` moved by `advance`."""

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = start_ms
        self._elapsed_ms = 0.0
        self._timers = TimerQueue()

    @property
    def is_frozen(self) -> bool:
        return False

    @property
    def is_moving(self) -> bool:
        return False

    def until_next(self, interval_ms: float) -> float:
        return interval_ms

    def now_ms(self) -> int:
        return self._start_ms + round(self._elapsed_ms)

    def monotonic(self) -> float:
        return self._elapsed_ms / 1000

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        return self._timers.add((self._elapsed_ms + delay_ms) / 1000, callback)

    def pending_timers(self) -> int:
        """How many timers wait to run."""
        return len(self._timers)

    def advance(self, delay_ms: float) -> None:
        """Move on by `delay_ms`; each timer on the way runs at its own due time."""
        target_ms = self._elapsed_ms + delay_ms
        while (due := self._timers.next_due()) is not None and due * 1000 <= target_ms:
            self._elapsed_ms = max(self._elapsed_ms, due * 1000)
            self._timers.run_due(due)
        self._elapsed_ms = target_ms
