"""The clock of a simulated machine: the world's time, to which a wall clock may be ahead or behind and jump."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.broker.clock import Timer, TimerQueue
from tests.simulation.world.loop import SimulatedLoop


class SimulatedClock:
    """A `barnabas.broker.clock.Clock` with timers on one process's loop."""

    def __init__(self, loop: SimulatedLoop, wall_ms: Callable[[], int]) -> None:
        self._loop = loop
        self._wall_ms = wall_ms
        self._timers = TimerQueue()
        self._armed_for: float | None = None

    @property
    def is_frozen(self) -> bool:
        return False

    @property
    def is_moving(self) -> bool:
        return False

    def until_next(self, interval_ms: float) -> float:
        return interval_ms

    def now_ms(self) -> int:
        return self._wall_ms()

    def monotonic(self) -> float:
        return self._loop.time()

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        timer = self._timers.add(self._loop.time() + delay_ms / 1000, callback)
        if self._armed_for is None or timer.due < self._armed_for:
            self._arm(timer.due)
        return timer

    def _arm(self, due: float) -> None:
        self._armed_for = due
        self._loop.call_at(due, self._run_due, due)

    def _run_due(self, due: float) -> None:
        if self._armed_for == due:
            self._armed_for = None
        try:
            self._timers.run_due(max(due, self._loop.time()))
        finally:
            next_due = self._timers.next_due()
            if next_due is not None and (self._armed_for is None or next_due < self._armed_for):
                self._arm(next_due)
