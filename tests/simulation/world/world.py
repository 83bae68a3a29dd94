"""The simulated world: time, chance, and processes that take turns. The same seed makes the same world.

Time is microseconds since the world began, and moves only when nobody has anything to do. Who of those that have is
next, how long a message, a thread's job or a sync takes: all that is chance, and all chance comes from here. Each use
has dice of its own (`dice("network")`), so that one more throw somewhere does not change everything else.

Knows nothing of brokers: `process.py` is what runs in it, `network.py` what lies between them.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.world.process import Process

BEGINNING_MS = 1_700_000_000_000  # the wall clock's time when the world begins
RESOLUTION_S = 1e-7  # what is due within it is due now
_STUCK_TURNS = 200_000


class StandsStill(Exception):
    """Nobody will ever do anything again, and what was waited for has not happened."""


class TakesTooLong(Exception):
    """What was waited for has not happened in its time."""


class World:
    """`turns` counts the turns that processes had, all together."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.now_us = 0
        self.turns = 0
        self.failures: list[str] = []
        """What must never happen and did: exceptions that nobody caught."""
        self.processes: list[Process] = []
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._turn_dice = self.dice("turns")

    def dice(self, use: str) -> random.Random:
        """Chance for one use."""
        return random.Random(f"{self.seed}/{use}")

    def now_s(self) -> float:
        return self.now_us / 1e6

    def now_ms(self) -> int:
        """Milliseconds since the world began."""
        return self.now_us // 1000

    def later(self, delay_us: int, callback: Callable[[], None]) -> None:
        """Call back after so many microseconds: what happens between processes, or outside of them all."""
        heapq.heappush(self._events, (self.now_us + max(0, delay_us), next(self._order), callback))

    def run_until(self, is_over: Callable[[], bool], limit_us: int) -> None:
        """Let everything happen until it is over. StandsStill, TakesTooLong."""
        deadline_us = self.now_us + limit_us
        busy_turns = 0
        while not is_over():
            before_us = self.now_us
            if not self._step():
                raise StandsStill(f"at {self.now_ms()} ms")
            busy_turns = busy_turns + 1 if self.now_us == before_us else 0
            if busy_turns > _STUCK_TURNS:
                raise TakesTooLong(f"at {self.now_ms()} ms it turns and turns, and time does not go by")
            if self.now_us > deadline_us:
                raise TakesTooLong(f"not over after {limit_us // 1000} ms")

    def run_for(self, time_ms: int) -> None:
        """Let everything happen for so long."""
        end_us = self.now_us + time_ms * 1000
        self.later(time_ms * 1000, lambda: None)
        self.run_until(lambda: self.now_us >= end_us, time_ms * 1000 + 1_000_000)

    def end(self) -> None:
        """Nobody lives on, and nobody hears of it."""
        for process in self.processes:
            process.loop.die()
        self.processes.clear()

    def _step(self) -> bool:
        """One turn of one process; or time goes by, up to what happens next. False if nothing ever will."""
        ready = self._ready()
        if ready:
            chosen = ready[0] if len(ready) == 1 else self._turn_dice.choice(ready)
            self.turns += 1
            chosen.turn()
            return True
        due_us = self._next_due_us()
        if due_us is None:
            return False
        self.now_us = max(self.now_us, due_us)
        while self._events and self._events[0][0] <= self.now_us:
            heapq.heappop(self._events)[2]()
        return True

    # These two look at the insides of loops, and ask them only when they have to: a world spends most of its time here.

    def _ready(self) -> list[Process]:
        """Those that have something to do now."""
        soon_s = self.now_us / 1e6 + RESOLUTION_S
        return [
            process
            for process in self.processes
            if (loop := process.loop)._ready
            or ((timers := loop._scheduled) and timers[0]._when < soon_s and loop.has_work)  # type: ignore[attr-defined]  # because asyncio's types hide it
        ]

    def _next_due_us(self) -> int | None:
        """When somebody has something to do again; None if nobody ever will."""
        first_s = math.inf
        for process in self.processes:
            timers = process.loop._scheduled
            if timers and timers[0]._when < first_s:  # type: ignore[attr-defined]  # because asyncio's types hide it
                due_s = process.loop.next_due_s()
                if due_s is not None:
                    first_s = min(first_s, due_s)
        found = [self._events[0][0]] if self._events else []
        if first_s is not math.inf:
            found.append(-int(-first_s * 1e6 // 1))
        return min(found, default=None)
