# compiled: mypyc
"""Parked requests: delayed operations that wait for a change of a partition, or for their deadline.

Knows partitions by name and requests by two functions; knows neither logs nor connections. Kafka calls this a
purgatory.

Theory of operation: a handler parks a request under its partitions and returns the `DelayedOperation`. The code that
changes a partition (an append, a moved high watermark, a deletion) calls `wake(topic, partition)`. A request that is
ready, or whose deadline passes, is finished soon, never inside the call that woke it: after the connection that is
being served has written its own answers, if it announced that it will call `finish_woken`; else in a callback of the
event loop. Its owner is signalled at that moment: with a turn of the loop between the two, others would be served, and
a consumer would wait for them. `after_answer` does the same for work that a request leaves behind: its client reads the
answer meanwhile, and no request that is served later finds the work undone.

Invariants: a request is finished exactly once; its owner may cancel it at any moment and nothing of it stays behind; an
exception in `is_ready` or `finish` belongs to the parked request, and neither that nor one of its owner's reaches the
caller that woke it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from barnabas.broker.runtime.clock import Clock, Timer

T = TypeVar("T")
PartitionKey = tuple[str, int]
"""(topic name, partition index)"""
Woken = Collection[PartitionKey] | None
"""The partitions that changed, out of those that requests wait for; None: look at all of them."""


class DelayedOperation(Generic[T]):
    """One parked request, for its owner: like a future, but callbacks are called as soon as it is finished."""

    __slots__ = (
        "_callback",
        "_error",
        "_is_over",
        "_result",
        "_waiters",
        "deadline",
        "finish",
        "is_ready",
        "keys",
        "woken",
    )

    def __init__(
        self,
        waiters: Purgatory,
        keys: tuple[PartitionKey, ...],
        is_ready: Callable[[PartitionKey], bool],
        finish: Callable[[Woken], T],
    ) -> None:
        self.keys = keys
        self.is_ready = is_ready
        self.finish = finish
        self.deadline: Timer | None = None
        """None once it is about to be finished."""
        self.woken: set[PartitionKey] | None = set()
        """The woken ones of `keys` so far; None once it is to be finished for another reason than a wake-up."""
        self._waiters = waiters
        self._callback: Callable[[DelayedOperation[T]], object] | None = None
        self._is_over = False
        self._result: T | None = None
        self._error: Exception | None = None

    def done(self) -> bool:
        """Return whether it was finished or cancelled."""
        return self._is_over

    def cancelled(self) -> bool:
        """Return False always: a callback is never called for a cancelled operation."""
        return False

    def exception(self) -> Exception | None:
        """Return the exception that `finish` raised, or None."""
        return self._error

    def result(self) -> T:
        """Return the result of `finish`, or raise its exception."""
        assert self._is_over, "read before it was finished"
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # because it is over, and there was no error

    def add_done_callback(self, callback: Callable[[DelayedOperation[T]], object]) -> None:
        """Call `callback(self)` when it is finished, never when it is cancelled. There can be only one."""
        self._callback = callback

    def cancel(self) -> None:
        """Cancel the operation."""
        self._is_over = True
        self._callback = None
        self._waiters.forget(self)

    def run(self) -> None:
        """Finish, and signal the owner."""
        if self._is_over:
            return
        self._is_over = True
        self._waiters.forget(self)
        try:
            self._result = self.finish(self.woken)
        except Exception as error:
            self._error = error
        callback, self._callback = self._callback, None  # the callback refers to this object: no cycle may stay
        if callback is not None:
            try:
                callback(self)
            except Exception as error:
                self._waiters.report(error)


class Purgatory:
    """All parked requests of one broker."""

    def __init__(self, clock: Clock, loop: AbstractEventLoop) -> None:
        self._clock = clock
        self._loop = loop
        self._parked: dict[DelayedOperation[Any], None] = {}  # a set that keeps the order of arrival
        self._by_key: dict[PartitionKey, dict[DelayedOperation[Any], None]] = {}
        self.woken: list[DelayedOperation[Any]] = []
        """The operations that `finish_woken` will finish."""
        self.is_attended = False
        """Set by the code that will call `finish_woken` before this callback of the event loop is over."""
        self.left_over: list[Callable[[], None]] = []
        """What requests that are being served left to do once their answers are sent."""

    def __len__(self) -> int:
        return len(self._parked)

    def parked_on(self, topic: str, partition: int) -> int:
        """Return the number of requests that wait for this partition."""
        return len(self._by_key.get((topic, partition), ()))

    def park(
        self,
        keys: Iterable[PartitionKey],
        *,
        timeout_ms: int,
        is_ready: Callable[[PartitionKey], bool],
        finish: Callable[[Woken], T],
    ) -> DelayedOperation[T]:
        """Park a request until `is_ready(key)` after a wake-up, or until `timeout_ms`; its result is `finish(woken)`.

        `is_ready` is called for wake-ups until it returns true, so it must be cheap; it is not called now: the caller
        has just looked. `finish` gets the keys that were woken since, until the moment it is called.
        """
        parked = DelayedOperation(self, tuple(keys), is_ready, finish)
        self._parked[parked] = None
        for key in parked.keys:
            self._by_key.setdefault(key, {})[parked] = None
        # An answered client sends its next request at once: a clock that is moved ahead goes in larger steps than its
        # timeout.
        delay_ms = self._clock.until_next(timeout_ms)
        parked.deadline = self._clock.call_later(delay_ms, lambda: self._finish(parked))
        return parked

    def until(self, keys: Iterable[PartitionKey], timeout_ms: int, is_so: Callable[[], bool]) -> Future[None]:
        """Return a future, done when `is_so()` holds, checked now and at wake-ups of `keys`, or after the timeout."""
        over: Future[None] = self._loop.create_future()
        if is_so():
            over.set_result(None)
        else:
            finish = partial(_complete, over)
            self.park(keys, timeout_ms=timeout_ms, is_ready=lambda _: is_so(), finish=finish)
        return over

    def wake(self, topic: str, partition: int) -> None:
        """Finish the requests that are ready after a change of this partition."""
        if not self._by_key:
            return
        key = topic, partition
        parked_here = self._by_key.get(key)
        if parked_here is None:
            return
        for parked in parked_here:
            if parked.woken is not None:
                parked.woken.add(key)
            if parked.deadline is None:
                continue
            try:
                is_ready = parked.is_ready(key)
            except Exception:
                is_ready = True  # finish() runs into the same error and assigns it to the request that it belongs to
            if is_ready:
                self._schedule(parked)

    def wake_all(self) -> None:
        """Finish all parked requests, ready or not, because the broker stops and answers the requests in flight."""
        for parked in self._parked:
            self._finish(parked)

    def after_answer(self, action: Callable[[], None]) -> None:
        """Call `action`, which must not raise, once the request that is being served is answered; now if none is."""
        if self.is_attended:
            self.left_over.append(action)
        else:
            action()

    def do_left_over(self) -> None:
        """Do what the request that was answered left to do."""
        while self.left_over:
            self.left_over.pop(0)()

    def finish_woken(self) -> None:
        """Do what is left over, finish what was woken and what that wakes, and clear `is_attended`."""
        self.do_left_over()
        for parked in self.woken:
            parked.run()
        self.woken.clear()
        self.is_attended = False

    def report(self, error: Exception) -> None:
        """Report an exception that an owner raised when it was signalled."""
        self._loop.call_exception_handler({"message": "an answer to a parked request failed", "exception": error})

    def forget(self, parked: DelayedOperation[Any]) -> None:
        """Remove an operation that is over from the wake-ups."""
        if parked not in self._parked:
            return
        del self._parked[parked]
        if parked.deadline is not None:
            parked.deadline.cancel()
            parked.deadline = None
        for key in parked.keys:
            others = self._by_key.get(key)
            if others is not None:
                others.pop(parked, None)
                if not others:
                    del self._by_key[key]

    def _finish(self, parked: DelayedOperation[Any]) -> None:
        """Finish an operation, ready or not."""
        parked.woken = None
        self._schedule(parked)

    def _schedule(self, parked: DelayedOperation[Any]) -> None:
        if parked.deadline is not None:
            parked.deadline.cancel()
            parked.deadline = None
            if not self.is_attended and not self.woken:
                self._loop.call_soon(self.finish_woken)
            self.woken.append(parked)


def _complete(waiting: Future[None], _: Woken) -> None:
    if not waiting.done():
        waiting.set_result(None)
