"""Doing something for each of many ids, for some milliseconds in each turn of the loop, with others served in between.

Knows nothing of what is done, nor of whose ids they are; only when there is no point any more in going on.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable

from barnabas.broker.clock import Stopwatch

TURN_IDS_MAX = 1_000
_TURN_S = 0.005
_LOOKS_AT_THE_CLOCK_EVERY = 16


class Sweeps:
    """The sweeps of one coordinator."""

    def __init__(self, stopwatch: Stopwatch, loop: AbstractEventLoop) -> None:
        self._stopwatch = stopwatch
        self._loop = loop
        self._unfinished = 0

    @property
    def are_over(self) -> bool:
        """Whether nothing is left for a later turn."""
        return self._unfinished == 0

    def begin(self, left: list[str], action: Callable[[str], None], is_pointless: Callable[[], bool]) -> None:
        """Call `action` for each id, which is taken off the list; `is_pointless`, asked in each turn, ends it early."""
        if is_pointless():
            return
        until = self._stopwatch() + _TURN_S
        every = _LOOKS_AT_THE_CLOCK_EVERY
        for count in range(len(left)):
            if count == TURN_IDS_MAX or (count % every == every - 1 and self._stopwatch() > until):
                break
            action(left.pop())
        if left:
            self._unfinished += 1
            self._loop.call_soon(self._go_on, left, action, is_pointless)

    def _go_on(self, left: list[str], action: Callable[[str], None], is_pointless: Callable[[], bool]) -> None:
        self._unfinished -= 1
        self.begin(left, action, is_pointless)

    def next_turn(self) -> Future[None]:
        """Done when the loop has turned once."""
        turn: Future[None] = self._loop.create_future()
        self._loop.call_soon(_end, turn)
        return turn


def _end(turn: Future[None]) -> None:
    if not turn.done():  # who waited may have been cancelled
        turn.set_result(None)
