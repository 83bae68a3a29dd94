"""A clock that somebody stops, moves ahead and lets go on: the broker's, over the machine's.

Knows timers, not what they are about. While it runs it is the machine's clock, so far ahead of it as it was moved.

Theory of operation: timers are in a heap of this clock. While it runs, the machine's clock has one timer for the
earliest of them. While it stands, nothing falls due. To move it ahead is to stop it, to go from one timer that is due
to the next, and to let it go on if it went before: each timer runs at its own time, and what it brings about is over
before the clock moves on. What that is only the broker knows: it is the caller's business to wait for it (`settled`).

Work that is done every so often, over and over, is done a bounded number of times in one move (`until_next`): a week
has sixty thousand intervals of ten seconds, and what was done in most of them would only be done over.

Invariants: it never goes backwards, neither its wall clock nor the monotonic one, unless the machine's does; timers run
in the order of their times; one move at a time; a turn of the loop runs timers for some milliseconds at most.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, Lock
from collections.abc import Awaitable, Callable

from barnabas.broker.runtime.clock import Clock, Stopwatch, Timer, TimerQueue, monotonic

MOVE_MS_MAX = 100 * 365 * 86_400_000
"""A hundred years: what is further away is a mistake in the units."""
TIMES_IN_A_MOVE = 16
"""How often about something is done in one move that is done again and again: its last time before the end included."""
_TURN_S = 0.002
_EPSILON_S = 1e-6  # half a minute twice is a minute, whatever is lost in the sums


class ClockRefused(Exception):
    """The clock cannot be moved like this. str() is a sentence for whoever asked."""


class MovableClock:
    """A `Clock`. Made where it is to run: it begins as far ahead of the machine's as it is told."""

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
        """Whether it stands until somebody says otherwise, and not only while it is moved."""
        self._ahead_s = 0.0  # of the machine's monotonic clock, while it runs
        self._ahead_ms = ahead_ms  # of its wall clock, while it runs
        self._stands_at_s: float | None = None
        self._stopped_at = 0.0, 0  # monotonic and wall, when it was stopped
        self._moves: tuple[float, float] | None = None  # from when until when
        self._moving = Lock()

    # --- what the broker asks ---

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

    # --- what a user does ---

    @property
    def ahead_ms(self) -> int:
        """How far it is ahead of the machine's wall clock; below zero if it stood for long."""
        return self._ahead_ms if self._stands_at_s is None else self.now_ms() - self._machine.now_ms()

    def start_ahead(self, ahead_ms: int) -> None:
        """So far ahead of the machine's clock from the start: before anybody has asked it anything."""
        self._ahead_ms = ahead_ms

    def freeze(self) -> None:
        """Stand still from now on, until `run`; `advance` moves it meanwhile."""
        self.is_frozen = True
        self._stop()

    def run(self) -> None:
        """Go on from where it stands."""
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
        """Move ahead, and return when all that fell due on the way is done. ClockRefused.

        settled: is asked before, and after each time at which something fell due, and returns when nothing goes on. An
        exception of it ends the move where it has come. begins: is told before how far ahead it will be at most. ends:
        is called at the end of the way, before `settled` is asked for the last time.
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
        """Stop, and move to a moment as `advance` does. ClockRefused if that is over, and nothing has changed then."""
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
        """All timers of the time it stands at, with turns for others in between."""
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
