# compiled: mypyc
"""Time as a parameter: the wall clock, the monotonic clock and the timers of one broker, and its stopwatch.

Nothing else in the broker reads the machine's time. There are two clocks: the times in responses to clients come from
one, the times of this machine and its connections from the other (environment.py lists which is which). The stopwatch
measures how long work may run before other work has its turn; no test stops it. Timers are stored in our own heap
(`TimerQueue`), so that a clock can be moved by hand and every timer that is due runs in order; the event loop only
knows the earliest of them.

Invariants: callbacks run in order of their due time, then of their creation; a cancelled timer never runs; a callback
that raises is reported through `on_error` and stops no other timer. The cancelled timers never outnumber the live ones
by much: the heap is rebuilt before that, so a million short long polls with long deadlines hold no memory.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle

_CANCELLED_BEFORE_REBUILD = 64
_EARLY_S = 1e-6  # an event loop may wake up earlier than requested, by less than its clock resolution

Stopwatch: TypeAlias = Callable[[], float]
"""Seconds that never go back, from an arbitrary start: measures what a turn of the loop has taken so far."""
monotonic: Stopwatch = time.monotonic
"""The machine's stopwatch."""


class Timer:
    """One pending call, which its holder can only `cancel()`."""

    __slots__ = ("_queue", "callback", "due")

    def __init__(self, due: float, callback: Callable[[], None], queue: TimerQueue) -> None:
        self.due = due
        self.callback: Callable[[], None] | None = callback
        self._queue = queue

    def cancel(self) -> None:
        """Cancel the call. Cancelling twice, or after the callback has run, does nothing."""
        if self.callback is not None:
            self.callback = None
            self._queue.note_cancelled()


class TimerQueue:
    """A heap of timers with lazy cancelling. Knows no clock: the caller passes the time, in seconds."""

    def __init__(self, on_error: Callable[[Exception], None] | None = None) -> None:
        self._heap: list[tuple[float, int, Timer]] = []  # no two have the same order, so timers are not compared
        self._order = 0
        self._cancelled = 0
        self._on_error = on_error

    def __len__(self) -> int:
        """Return the number of timers that will still run."""
        return len(self._heap) - self._cancelled

    def add(self, due: float, callback: Callable[[], None]) -> Timer:
        """Add a timer that runs at the first `run_due(now)` with now >= due."""
        self._order += 1
        timer = Timer(due, callback, self)
        heapq.heappush(self._heap, (due, self._order, timer))
        return timer

    def next_due(self) -> float | None:
        """Return when the earliest live timer is due, or None without one."""
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heapq.heappop(heap)
            self._cancelled -= 1
        return heap[0][0] if heap else None

    def run_due(self, now: float) -> None:
        """Run every timer due at `now`, including those that the callbacks add."""
        while self.run_next(now):
            pass

    def run_next(self, now: float) -> bool:
        """Run the earliest timer due at `now`; return whether there was one."""
        due = self.next_due()
        if due is None or due > now:
            return False
        timer = heapq.heappop(self._heap)[2]
        callback, timer.callback = timer.callback, None
        assert callback is not None, "next_due() leaves a live timer in front"
        try:
            callback()
        except Exception as error:
            if self._on_error is None:
                raise
            self._on_error(error)
        return True

    def note_cancelled(self) -> None:
        """Count a cancelled timer, and remove all cancelled timers once they are the majority."""
        self._cancelled += 1
        if self._cancelled > _CANCELLED_BEFORE_REBUILD and self._cancelled * 2 > len(self._heap):
            self._heap = [each for each in self._heap if each[2].callback is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0


class Clock(Protocol):
    """The clock of the broker, with its timers."""

    @property
    def is_frozen(self) -> bool:
        """Whether the clock stands still until it is moved or released: no timer runs."""

    @property
    def is_moving(self) -> bool:
        """Whether the clock is being moved ahead now: timers due before the end of the move run without pauses."""

    def until_next(self, interval_ms: float) -> float:
        """Return the milliseconds until the next run of an action that is repeated at this interval.

        While the clock is being moved ahead this may be many intervals, but never so many that the last run before the
        end of the move is left out: the runs in between would only be repeated by it.
        """

    def now_ms(self) -> int:
        """Return wall-clock milliseconds since the epoch, for record timestamps, retention and expiry."""

    def monotonic(self) -> float:
        """Return seconds that never go back, in step with the timers, for deadlines."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` on the event loop after `delay_ms` milliseconds."""


def wall_ms() -> int:
    """Return the time of the machine's wall clock in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class SystemClock:
    """The machine's clock, with timers on an event loop.

    Reads the time from the machine itself (the loop's own is coarser), unless `monotonic` and `wall_ms` are given.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        on_error: Callable[[Exception], None] | None = None,
        *,
        monotonic: Callable[[], float] = monotonic,
        wall_ms: Callable[[], int] = wall_ms,
    ) -> None:
        self._loop = loop
        self._monotonic, self._wall_ms = monotonic, wall_ms
        self._timers = TimerQueue(on_error)
        self._armed: TimerHandle | None = None
        self._armed_for = 0.0

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
        return self._monotonic()

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        timer = self._timers.add(self._monotonic() + delay_ms / 1000, callback)
        if self._armed is None or timer.due < self._armed_for:
            self._arm(timer.due)
        return timer

    def _arm(self, due: float) -> None:
        if self._armed is not None:
            self._armed.cancel()
        self._armed_for = due
        self._armed = self._loop.call_later(max(0.0, due - self._monotonic()), self._run_due)

    def _run_due(self) -> None:
        self._armed = None
        try:
            self._timers.run_due(self._monotonic() + _EARLY_S)
        finally:
            due = self._timers.next_due()
            if due is not None:
                self._arm(due)
