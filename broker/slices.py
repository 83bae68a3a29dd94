"""Work for which a request may ask too much: a slice of it at a time, with pauses for everybody else.

Knows steps (storage/steps.py), not what they do.

Theory of operation: what is asked for is begun at once, and mostly over within its first slice. What is not goes round
with the others of its kind: a slice for one of them, a pause as long, a slice for the next. So nobody waits for more
than a slice, and half of the loop is free, however many ask for however much. Only some are under way at a time, since
each holds memory (a batch, and a chunk of what it decompresses to); one too many gives up what it has, waits in line
and is begun again. Who cancels the future gives up the work: a connection that is gone does (broker/api/answers.py).

Invariants: at most `UNDER_WAY_MAX` hold memory between slices; a future in neither table is done.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.clock import Clock

T = TypeVar("T")

SLICE_MS = 2
UNDER_WAY_MAX = 4

_NOT_OVER: Any = object()


class Slices:
    """The long work of one broker. `clock.monotonic` is the stopwatch."""

    def __init__(self, clock: Clock, loop: AbstractEventLoop) -> None:
        self._clock = clock
        self._loop = loop
        self._under_way: dict[Future[Any], Steps[Any]] = {}
        self._in_line: dict[Future[Any], Callable[[], Steps[Any]]] = {}
        self._is_turn_due = False

    @property
    def under_way(self) -> int:
        """How many are begun and not over."""
        return len(self._under_way)

    def run(self, begin: Callable[[], Steps[T]]) -> T | Future[T]:
        """What comes of the steps: at once if they are few, else later. An exception of theirs is raised likewise.

        `begin` makes the steps, perhaps twice; steps that were given up have changed nothing.
        """
        steps = begin()
        result: T = self._slice(steps)
        if result is not _NOT_OVER:
            return result
        future: Future[T] = self._loop.create_future()
        if len(self._under_way) < UNDER_WAY_MAX:
            self._under_way[future] = steps
        else:
            steps.close()
            self._in_line[future] = begin
        future.add_done_callback(self._give_up)
        self._have_a_turn()
        return future

    def _slice(self, steps: Steps[Any]) -> Any:
        end = self._clock.monotonic() + SLICE_MS / 1000
        try:
            while True:
                next(steps)
                if self._clock.monotonic() >= end:
                    return _NOT_OVER
        except StopIteration as stop:
            return stop.value

    def _have_a_turn(self) -> None:
        if self._under_way and not self._is_turn_due:
            self._is_turn_due = True
            self._clock.call_later(SLICE_MS, self._turn)

    def _turn(self) -> None:
        self._is_turn_due = False
        if self._under_way:
            future = next(iter(self._under_way))
            steps = self._under_way.pop(future)
            if future.done():
                steps.close()
            else:
                self._go_on(future, steps)
        self._let_in()

    def _go_on(self, future: Future[Any], steps: Steps[Any]) -> None:
        try:
            result = self._slice(steps)
        except Exception as error:
            future.set_exception(error)
            return
        if result is _NOT_OVER:
            self._under_way[future] = steps  # behind the others
        else:
            future.set_result(result)

    def _give_up(self, future: Future[Any]) -> None:
        self._in_line.pop(future, None)
        steps = self._under_way.pop(future, None)
        if steps is not None:
            steps.close()
        self._let_in()

    def _let_in(self) -> None:
        while self._in_line and len(self._under_way) < UNDER_WAY_MAX:
            future = next(iter(self._in_line))
            self._under_way[future] = self._in_line.pop(future)()
        self._have_a_turn()
