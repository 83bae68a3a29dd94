"""An event loop of a simulated process: asyncio's own, that asks a universe for time, threads and its turn.

It never waits: `World` turns it when it has something to do, one turn at a time, and moves time when nobody has. What
is for another thread is run in this one, later. Once the process is dead, nothing that is left of it is ever run,
whatever its remains ask for when they are thrown away.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.simulation.world.world import RESOLUTION_S

if TYPE_CHECKING:
    from concurrent.futures import Executor

Job = Callable[[], Callable[[], None]]


class _NothingToSelect:
    """In place of a selector: there are no descriptors, and no turn waits."""

    def select(self, timeout: float | None) -> list[Any]:
        return []

    def close(self) -> None:
        pass


class SimulatedLoop(asyncio.BaseEventLoop):
    """Goes by what asyncio's base class keeps: `_ready`, `_scheduled` and `_run_once`, the same in all versions."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _timer_cancelled_count: int
    _run_once: Callable[[], None]
    _closed: bool

    def __init__(self, now_s: Callable[[], float], run_job: Callable[[object, str, Job], None]) -> None:
        """run_job: runs the jobs of one executor one after the other, each later than now, and then what they return.

        It is told the job by its name, too. What a job returns tells the loop how it ended.
        """
        super().__init__()
        self._now_s = now_s
        self._run_job = run_job
        self._selector = _NothingToSelect()
        self._clock_resolution = RESOLUTION_S
        self.is_dead = False

    def time(self) -> float:
        return self._now_s()

    @property
    def has_work(self) -> bool:
        """Whether a turn now would run something."""
        if self._ready:
            return True
        due = self.next_due_s()
        return due is not None and due < self.time() + RESOLUTION_S

    def next_due_s(self) -> float | None:
        """When its next timer is due; None without one."""
        scheduled = self._scheduled
        while scheduled and scheduled[0].cancelled():
            self._timer_cancelled_count -= 1
            heapq.heappop(scheduled)._scheduled = False  # type: ignore[attr-defined]  # because asyncio's types hide it
        return scheduled[0].when() if scheduled else None

    def turn(self) -> None:
        """Run what is ready and due."""
        before = events._get_running_loop()
        events._set_running_loop(self)
        try:
            self._run_once()
        finally:
            events._set_running_loop(before)

    def die(self) -> None:
        """Run nothing any more."""
        self.is_dead = True
        self._ready.clear()
        self._scheduled.clear()
        self.set_exception_handler(lambda loop, context: None)
        self.close()

    # --- what asyncio asks of it -----------------------------------------------------------------------------------

    def run_in_executor(self, executor: Executor | None, func: Any, *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]  # because it is a future, as every other loop returns
        done: asyncio.Future[Any] = self.create_future()

        def job() -> Callable[[], None]:
            try:
                result = func(*args)
            except StopIteration as error:
                raise AssertionError("a future cannot carry StopIteration") from error
            except BaseException as error:
                return partial(self._end, _fail, done, error)
            return partial(self._end, _give, done, result)

        self._run_job(executor, getattr(func, "__qualname__", type(func).__name__), job)
        return done

    def _end(self, how: Callable[[asyncio.Future[Any], Any], None], done: asyncio.Future[Any], what: Any) -> None:
        if not self.is_dead:
            self.call_soon(how, done, what)

    def _process_events(self, event_list: object) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def _check_closed(self) -> None:
        if self._closed and not self.is_dead:
            raise RuntimeError("Event loop is closed")


def _give(done: asyncio.Future[Any], result: Any) -> None:
    if not done.done():
        done.set_result(result)


def _fail(done: asyncio.Future[Any], error: BaseException) -> None:
    if not done.done():
        done.set_exception(error)
