"""Work that takes longer than a turn of the event loop should: some milliseconds in each turn, with others in between.

Knows steps (storage/steps.py), not what they do. This is the one way for long work to let others run. Time is measured
with a stopwatch, not with the broker's clock, and turns are the loop's own: a clock that stands still in a test neither
delays the work nor makes a turn of it endless, for a slice has a maximum number of steps, too.

Theory of operation: requested work begins at once, and mostly ends within its first slice. Other work is done in
rounds: in each turn of the loop the next jobs have a slice each, until the time of one slice is over. Where clients can
request any amount (`rests`), a rest as long follows, so half of the loop is free, however much work the clients
request. But the rest is no longer than REST_MS_MAX: where a slice takes seconds the machine stood still. A step may
yield a future: its work then continues when that is done, with or without a result. Or it yields a function for a
thread: it is called once its work has room, and an exception of it is thrown into the work.

Only some jobs of a kind are under way at a time, since each holds memory. One too many closes its steps, waits in line
and begins again; work that may not be done twice begins only when there is room. So the line holds nothing but
functions, one for each request. Cancelling the future cancels the work, as `close` does for all when the broker stops.
A closed connection cancels the future that it waits for itself (broker/api/deferred_response.py), but no task that
waits for a future: what Produce has begun continues.

Invariants: a turn does no more than two slices' time of work; no more than `under_way_max` of a kind hold memory
between slices; an exception of the work is raised where it is awaited, and so is a cancellation; the steps of cancelled
work are closed.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, CancelledError, Future, shield
from collections import defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, TypeAlias, TypeVar

from barnabas.broker.runtime.clock import Stopwatch, monotonic
from barnabas.broker.runtime.in_flight import InFlight

T = TypeVar("T")

Work: TypeAlias = Generator[Future[Any] | Callable[[], object] | None, None, T]
"""Between two pauses lies a bounded piece of work. It continues when a future that it yields is done, or when a
function that it yields was called in a thread; an exception of that is thrown into it.
"""

SLICE_MS = 2
REST_MS_MAX = 50
UNDER_WAY_MAX = 4

_NOT_OVER: Any = object()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WorkClass:
    """A kind of long work: its limits."""

    under_way_max: int = UNDER_WAY_MAX
    """How many hold memory between slices."""
    steps_max: int = 1_000
    """How many steps are done in a turn of the loop."""
    slice_ms: float = SLICE_MS
    """How long a turn of the loop is spent on it; the last step may exceed this."""
    may_begin_again: bool = True
    """Whether steps that are closed early have changed nothing."""
    first_ms: float = inf
    """How much of a turn may be spent before, if the first slice is to be done at once."""


LOOK_UP = WorkClass()


class _Job:
    """Work that has not ended. Found by its future; it must not refer to the future, since errors refer to the job."""

    __slots__ = ("awaited", "begin", "call", "has_room", "in_thread", "kind", "steps")

    def __init__(self, begin: Callable[[], Work[Any]], kind: WorkClass) -> None:
        self.begin = begin
        self.kind = kind
        self.steps: Work[Any] | None = None
        """None before the work begins, and while it waits in line."""
        self.has_room = False
        """Whether it is one of those under way."""
        self.awaited: Future[Any] | None = None
        self.call: Callable[[], object] | None = None
        """A function that waits to be called in a thread."""
        self.in_thread: Future[Exception | None] | None = None
        """The result of that call."""


class CooperativeScheduler:
    """Long work on one event loop."""

    def __init__(self, loop: AbstractEventLoop, stopwatch: Stopwatch = monotonic, *, rests: bool = True) -> None:
        self.loop = loop
        self._stopwatch = stopwatch
        self._rests = rests
        self._jobs: dict[Future[Any], _Job] = {}
        self._round: dict[Future[Any], _Job] = {}  # jobs that can continue, in the order of their turns
        self._in_line: defaultdict[WorkClass, dict[Future[Any], _Job]] = defaultdict(dict)
        self._under_way: defaultdict[WorkClass, int] = defaultdict(int)
        self._is_turn_due = False
        self.is_closed = False
        """Whether the broker stops, and new work is cancelled unless it is short."""
        self._spent_s = 0.0  # in this turn of the loop
        self._rest_s = 0.0
        self.under_way_now = InFlight(loop, lambda: self._jobs)
        """The work left for a later turn."""

    @property
    def under_way(self) -> int:
        """How many hold memory between slices."""
        return sum(self._under_way.values())

    @property
    def are_over(self) -> bool:
        """Whether nothing is left for a later turn."""
        return not self._jobs

    @property
    def spent_ms(self) -> float:
        """How much of this turn of the loop was spent on slices so far."""
        return self._spent_s * 1000

    def in_slices(self, begin: Callable[[], Work[T]], kind: WorkClass = LOOK_UP) -> T | Future[T]:
        """Return the result of the steps: at once if they are few, else as a future. Their exceptions are raised
        likewise.

        `begin` makes the steps, perhaps several times if the kind allows that. After `close`, work that does not end in
        its first slice is cancelled, with its future.
        """
        job = _Job(begin, kind)
        may_begin = kind.may_begin_again or self._has_room(kind)
        if may_begin and self.spent_ms < kind.first_ms:
            job.steps = begin()
            try:
                result: T = self._slice(job, job.steps)
            except CancelledError:
                return self._cancelled()
            if result is not _NOT_OVER:
                return result
        future: Future[T] = self.loop.create_future()
        self._jobs[future] = job
        if self.is_closed:
            self.give_up(future)
            return future
        future.add_done_callback(self._drop)
        if job.steps is not None:
            self._pause(future, job)
        elif may_begin:
            if not kind.may_begin_again:
                self._enter(job)
            self._round[future] = job
        else:
            self._in_line[kind][future] = job
        self._have_a_turn()
        return future

    def to_the_end(self, begin: Callable[[], Work[T]], kind: WorkClass = LOOK_UP) -> T | Future[T]:
        """Do the work like `in_slices`, but continue it to its end even if the caller stops waiting."""
        done = self.in_slices(begin, kind)
        return shield(done) if isinstance(done, Future) else done

    def give_up(self, future: Future[Any]) -> None:
        """Cancel the future, and close the steps now, not in a later turn."""
        future.cancel()
        self._drop(future)

    def next_turn(self) -> Future[None]:
        """Return a future that is done after one turn of the loop: to yield in the steps of work, or to await."""
        turn: Future[None] = self.loop.create_future()
        self.loop.call_soon(_end, turn)
        return turn

    def close(self) -> None:
        """Cancel all work that has not ended: the broker stops."""
        self.is_closed = True
        for future in list(self._jobs):
            self.give_up(future)

    # --- one turn ---

    def _cancelled(self) -> Future[Any]:
        future: Future[Any] = self.loop.create_future()
        future.cancel()
        return future

    def _has_room(self, kind: WorkClass) -> bool:
        return self._under_way[kind] < kind.under_way_max

    def _slice(self, job: _Job, steps: Work[Any], error: Exception | None = None) -> Any:
        """Run steps until the slice is over; `error` is thrown into the first one. Return the result or _NOT_OVER."""
        stopwatch = self._stopwatch
        begun = stopwatch()
        end = begun + job.kind.slice_ms / 1000
        try:
            for _ in range(job.kind.steps_max):
                if error is None:
                    awaited = next(steps)
                else:
                    try:
                        awaited = steps.throw(error)
                    finally:
                        error = None  # its traceback refers to this frame: a cycle
                if awaited is not None:
                    if not isinstance(awaited, Future):
                        job.call = awaited
                        break
                    if not awaited.done():
                        job.awaited = awaited
                        break
                if stopwatch() >= end:
                    break
            return _NOT_OVER
        except StopIteration as stop:
            return stop.value
        finally:
            self._spend(stopwatch() - begun)

    def _spend(self, seconds: float) -> None:
        if seconds > 0 and not self._spent_s:
            self.loop.call_soon(self._forget_spending)
        self._spent_s += seconds
        if self._rests:
            self._rest_s = seconds

    def _forget_spending(self) -> None:
        self._spent_s = 0.0

    def _have_a_turn(self) -> None:
        if self._is_turn_due or not self._round:
            return
        self._is_turn_due = True
        if self._rest_s > 0:
            self.loop.call_later(min(self._rest_s, REST_MS_MAX / 1000), self._turn)
        else:
            self.loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._is_turn_due = False
        begun = self._stopwatch()
        for _ in range(len(self._round)):
            future = next(iter(self._round), None)
            if future is None:
                break  # some have ended with the one before
            job = self._round.pop(future)
            if not future.done():
                slice_ms = job.kind.slice_ms
                self._go_on(future, job)
                del future, job  # see _go_on
                if (self._stopwatch() - begun) * 1000 >= slice_ms:
                    break
        self._rest_s = self._stopwatch() - begun if self._rests else 0.0
        self._have_a_turn()

    def _go_on(self, future: Future[Any], job: _Job) -> None:
        result, error = self._tried(job)
        try:
            if result is _NOT_OVER:
                self._pause(future, job)
                return
            self._leave(future, job)
            if future.done():
                return  # its last step cancelled it
            if error is None:
                future.set_result(result)
            elif isinstance(error, CancelledError):
                future.cancel()
            else:
                future.set_exception(error)
        finally:
            del future, job, error  # an error's traceback refers to this frame: a cycle

    def _tried(self, job: _Job) -> tuple[Any, Exception | CancelledError | None]:
        """Run one slice; return its result or its error."""
        try:
            if job.steps is None:
                job.steps = job.begin()
            return self._slice(job, job.steps, _thread_error(job)), None
        except (Exception, CancelledError) as error:
            return None, error

    # --- jobs under way ---

    def _pause(self, future: Future[Any], job: _Job) -> None:
        """Keep a job that has not ended in a slice: in the round, or in line, or until its future is done."""
        if not job.has_room:
            if job.kind.may_begin_again and not self._has_room(job.kind):
                assert job.steps is not None
                job.steps.close()
                job.steps = job.awaited = job.call = None
                self._in_line[job.kind][future] = job
                return
            self._enter(job)
        if job.call is not None:
            job.in_thread = job.awaited = self.loop.run_in_executor(None, _error_of, job.call)
            job.call = None
        if job.awaited is None:
            self._round[future] = job
        else:
            job.awaited.add_done_callback(partial(self._wake, future))

    def _wake(self, future: Future[Any], _: Future[Any]) -> None:
        job = self._jobs.get(future)
        if job is not None:
            job.awaited = None
            self._round[future] = job
            self._have_a_turn()

    def _enter(self, job: _Job) -> None:
        job.has_room = True
        self._under_way[job.kind] += 1

    def _leave(self, future: Future[Any], job: _Job) -> None:
        """Remove a job that has ended or was cancelled."""
        if self._jobs.pop(future, None) is None:
            return
        self.under_way_now.ended(future)
        line = self._in_line[job.kind]
        if not job.has_room:
            line.pop(future, None)
            return
        self._under_way[job.kind] -= 1
        while line and self._has_room(job.kind):
            waiting = next(iter(line))
            self._round[waiting] = line.pop(waiting)
            self._enter(self._round[waiting])

    def _drop(self, future: Future[Any]) -> None:
        """Clean up after a future that is done; if its job has not ended, the future was cancelled."""
        job = self._jobs.get(future)
        if job is None:
            return
        self._round.pop(future, None)
        self._leave(future, job)
        if job.steps is not None:
            job.steps.close()
        if job.in_thread is not None:
            job.in_thread.cancel()  # if the call has begun it continues, and its result is ignored
        self._have_a_turn()


def _end(turn: Future[None]) -> None:
    if not turn.done():  # the waiting caller may have been cancelled
        turn.set_result(None)


def _thread_error(job: _Job) -> Exception | None:
    """Return the error of the call that was done in a thread for the job; None without one, and the next time."""
    done, job.in_thread = job.in_thread, None
    return None if done is None else done.result()


def _error_of(call: Callable[[], object]) -> Exception | None:
    """Call it in a thread and return its error, which is not set on the thread's future: the loop would log it if it is
    never retrieved.
    """
    try:
        call()
    except Exception as error:
        return error
    return None
