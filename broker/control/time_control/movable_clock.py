"""A clock that can be stopped, moved ahead and started again: the broker's, over the machine's.

Knows timers, not their purpose. While it runs it is the machine's clock, plus the distance it was moved ahead.

Theory of operation: timers are in a heap of this clock. While it runs, the machine's clock has one timer for the
earliest of them. While it is stopped, no timer is due. A move ahead stops it, steps from one timer that is due to the
next, and starts it again if it ran before: each timer runs at its own time, and its effects are complete before the
clock moves on. Only the broker knows these effects: the caller waits for them (`settled`).

Periodic work is done a bounded number of times in one move (`until_next`): a week has sixty thousand intervals of ten
seconds, and the work of most of them would only be repeated.

Invariants: it never goes backwards, neither its wall clock nor the monotonic one, unless the machine's does; timers run
in the order of their times; one move at a time; a turn of the loop runs timers for some milliseconds at most.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, Lock
from collections.abc import Awaitable, Callable

from barnabas.broker.runtime.clock import Clock, Stopwatch, Timer, TimerQueue, monotonic

MOVE_MS_MAX = 100 * 365 * 86_400_000
"""A hundred years: a larger distance is a mistake in the units."""
TIMES_IN_A_MOVE = 16
"""About how often periodic work runs in one move, including its last time before the end."""
_TURN_S = 0.002
_EPSILON_S = 1e-6  # twice half a minute is a minute, whatever is lost in the sums


class ClockRefused(Exception):
    """The clock cannot be moved like this. str() is a sentence for the user."""


class MovableClock:
    """A `Clock` that can be moved. Created running, ahead of the machine's clock by `ahead_ms`."""

    def __init__(
        self,
        machine_clock: Clock,
        on_error: Callable[[Exception], None] | None = None,
        *,
        ahead_ms: int = 0,
        stopwatch: Stopwatch = monotonic,
    ) -> None:
        self._machine = machine_clock
        self._stopwatch = stopwatch
        self._timers = TimerQueue(on_error)
        self._armed: Timer | None = None
        self._armed_for_s = 0.0
        self.is_frozen = False
        """Whether it is stopped until `run` is called, and not only during a move."""
        self._ahead_s = 0.0  # of the machine's monotonic clock, while it runs
        self._ahead_ms = ahead_ms  # of its wall clock, while it runs
        self._stands_at_s: float | None = None
        self._stopped_at = 0.0, 0  # monotonic and wall, when it was stopped
        self._moves: tuple[float, float] | None = None  # (from, until) of the move
        self._moving = Lock()

    # --- the interface of `Clock` ---

    @property
    def is_moving(self) -> bool:
        return self._moves is not None

    def until_next(self, interval_ms: float) -> float:
        if self._moves is None or interval_ms <= 0:
            return interval_ms
        begin_s, end_s = self._moves
        left = int((end_s - self.monotonic()) * 1000 / interval_ms)
        at_once = int((end_s - begin_s) * 1000 / interval_ms / TIMES_IN_A_MOVE)
        return max(1, min(left, at_once)) * interval_ms

    def now_ms(self) -> int:
        if self._stands_at_s is None:
            return self._machine.now_ms() + self._ahead_ms
        stopped_s, stopped_ms = self._stopped_at
        return stopped_ms + round((self._stands_at_s - stopped_s) * 1000)

    def monotonic(self) -> float:
        return self._machine.monotonic() + self._ahead_s if self._stands_at_s is None else self._stands_at_s

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        timer = self._timers.add(self.monotonic() + delay_ms / 1000, callback)
        if self._stands_at_s is None and (self._armed is None or timer.due < self._armed_for_s):
            self._arm(timer.due)
        return timer

    # --- control ---

    @property
    def ahead_ms(self) -> int:
        """How far it is ahead of the machine's wall clock; negative if it was stopped for long."""
        return self._ahead_ms if self._stands_at_s is None else self.now_ms() - self._machine.now_ms()

    def start_ahead(self, ahead_ms: int) -> None:
        """Set how far it is ahead of the machine's clock at the start, before its first use."""
        self._ahead_ms = ahead_ms

    def freeze(self) -> None:
        """Stop until `run`; `advance` moves it meanwhile."""
        self.is_frozen = True
        self._stop()

    def run(self) -> None:
        """Run on from the present time of the clock."""
        self.is_frozen = False
        if not self.is_moving:
            self._go()

    async def advance(
        self,
        by_ms: float,
        settled: Callable[[], Awaitable[None]],
        *,
        begins: Callable[[int], None] = lambda _: None,
        ends: Callable[[], None] = lambda: None,
    ) -> None:
        """Move ahead, and return when everything that fell due on the way is done. Raises ClockRefused.

        settled: called at the beginning, and after each time at which a timer fell due; returns when no work is in
        progress. Its exception ends the move at the time reached. begins: called first, with how far ahead the clock
        will be at most. ends: called at the end of the way, before the last call of `settled`.
        """
        async with self._moving:
            _check(by_ms)
            begins(self.ahead_ms + round(by_ms))
            await self._move(by_ms, settled, ends)

    async def advance_to(
        self,
        wall_ms: int,
        settled: Callable[[], Awaitable[None]],
        *,
        begins: Callable[[int], None] = lambda _: None,
        ends: Callable[[], None] = lambda: None,
    ) -> None:
        """Stop, and move to a time as `advance` does. Raise ClockRefused, with nothing changed, if it has passed."""
        async with self._moving:
            by_ms = wall_ms - self.now_ms()
            _check(by_ms)
            begins(self.ahead_ms + by_ms)
            self.freeze()
            await self._move(max(0, wall_ms - self.now_ms()), settled, ends)

    # --- helpers ---

    async def _move(self, by_ms: float, settled: Callable[[], Awaitable[None]], ends: Callable[[], None]) -> None:
        from asyncio import get_running_loop

        loop = get_running_loop()
        self._stop()
        assert self._stands_at_s is not None
        until_s = self._stands_at_s + by_ms / 1000
        self._moves = self._stands_at_s, until_s
        try:
            await settled()
            while (due := self._timers.next_due()) is not None and due <= until_s + _EPSILON_S:
                self._stands_at_s = max(self._stands_at_s, min(due, until_s))
                await self._run_due(loop)
                await settled()
            self._stands_at_s = until_s
            ends()
            await settled()
        finally:
            self._moves = None
            if not self.is_frozen:
                self._go()

    async def _run_due(self, loop: AbstractEventLoop) -> None:
        """Run all timers of the present time, with turns for other tasks in between."""
        assert self._stands_at_s is not None
        begun_s = self._stopwatch()
        while self._timers.run_next(self._stands_at_s + _EPSILON_S):
            if self._stopwatch() - begun_s >= _TURN_S:
                turned: Future[None] = loop.create_future()
                loop.call_soon(turned.set_result, None)
                await turned
                begun_s = self._stopwatch()

    def _stop(self) -> None:
        if self._stands_at_s is None:
            at = self._stopped_at = self.monotonic(), self.now_ms()
            self._stands_at_s = at[0]
            if self._armed is not None:
                self._armed.cancel()
                self._armed = None

    def _go(self) -> None:
        if self._stands_at_s is not None:
            self._ahead_s = self._stands_at_s - self._machine.monotonic()
            self._ahead_ms = self.now_ms() - self._machine.now_ms()
            self._stands_at_s = None
            self._arm_next()

    def _arm_next(self) -> None:
        due = self._timers.next_due()
        if due is not None:
            self._arm(due)

    def _arm(self, due: float) -> None:
        if self._armed is not None:
            self._armed.cancel()
        self._armed_for_s = due
        self._armed = self._machine.call_later(max(0.0, due - self.monotonic()) * 1000, self._fall_due)

    def _fall_due(self) -> None:
        self._armed = None
        try:
            self._timers.run_due(self.monotonic())
        finally:
            if self._stands_at_s is None:
                self._arm_next()


def _check(by_ms: float) -> None:
    if by_ms < 0:
        raise ClockRefused("the clock does not go back")
    if by_ms > MOVE_MS_MAX:
        raise ClockRefused("the clock moves ahead by a hundred years at most")
