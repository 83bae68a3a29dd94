"""Parked requests: long polls that wait for something to happen to a partition, or for their deadline.

Knows partitions by name and requests by two functions; knows neither logs nor connections. Kafka calls this a
purgatory.

Theory of operation: a handler parks a request under the partitions it cares about and returns the future. Whoever
changes a partition (an append, a moved high watermark, a deletion) calls `wake(topic, partition)`. A request that
says it is ready, or whose deadline passes, is finished in its own callback of the event loop, never inside the call
that woke it.

Invariants: a request is finished exactly once; its future's owner may cancel it at any moment and nothing of it stays
behind; an exception in `is_ready` or `finish` belongs to the parked request and never reaches the one that woke it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from broker.clock import Clock, Timer

T = TypeVar("T")
PartitionKey = tuple[str, int]
"""(topic name, partition index)"""


class _Parked:
    """One parked request."""

    __slots__ = ("deadline", "finish", "future", "is_ready", "is_scheduled", "keys")

    def __init__(
        self,
        keys: tuple[PartitionKey, ...],
        is_ready: Callable[[], bool],
        finish: Callable[[], Any],
        future: Future[Any],
    ) -> None:
        self.keys = keys
        self.is_ready = is_ready
        self.finish = finish
        self.future = future
        self.deadline: Timer | None = None
        self.is_scheduled = False


class Waiters:
    """All parked requests of one broker."""

    def __init__(self, clock: Clock, loop: AbstractEventLoop) -> None:
        self._clock = clock
        self._loop = loop
        self._parked: dict[_Parked, None] = {}  # a set that keeps the order of arrival
        self._by_key: dict[PartitionKey, dict[_Parked, None]] = {}

    def __len__(self) -> int:
        return len(self._parked)

    def park(
        self,
        keys: Iterable[PartitionKey],
        *,
        timeout_ms: int,
        is_ready: Callable[[], bool],
        finish: Callable[[], T],
    ) -> Future[T]:
        """A future that gets `finish()` once `is_ready()` after a wake-up of one of `keys`, or after `timeout_ms`.

        `is_ready` is called for every wake-up, so it must be cheap; it is not called now: the caller has just looked.
        Cancelling the future unparks the request.
        """
        future: Future[T] = self._loop.create_future()
        parked = _Parked(tuple(keys), is_ready, finish, future)
        self._parked[parked] = None
        for key in parked.keys:
            self._by_key.setdefault(key, {})[parked] = None
        parked.deadline = self._clock.call_later(timeout_ms, lambda: self._schedule(parked))
        future.add_done_callback(lambda _: self._forget(parked))
        return future

    def wake(self, topic: str, partition: int) -> None:
        """Something changed in this partition: finish those that now have what they waited for."""
        parked_here = self._by_key.get((topic, partition))
        if parked_here is None:
            return
        for parked in parked_here:
            if parked.is_scheduled:
                continue
            try:
                is_ready = parked.is_ready()
            except Exception:
                is_ready = True  # finish() meets the same trouble and hands it to the request it belongs to
            if is_ready:
                self._schedule(parked)

    def wake_all(self) -> None:
        """Finish everything that is parked, ready or not: the broker stops, and what is in flight is answered."""
        for parked in self._parked:
            self._schedule(parked)

    def _schedule(self, parked: _Parked) -> None:
        if not parked.is_scheduled:
            parked.is_scheduled = True
            self._loop.call_soon(self._finish, parked)

    def _finish(self, parked: _Parked) -> None:
        if parked.future.done():
            return
        self._forget(parked)
        try:
            result = parked.finish()
        except Exception as error:
            parked.future.set_exception(error)
        else:
            parked.future.set_result(result)

    def _forget(self, parked: _Parked) -> None:
        if parked not in self._parked:
            return
        del self._parked[parked]
        if parked.deadline is not None:
            parked.deadline.cancel()
        for key in parked.keys:
            others = self._by_key.get(key)
            if others is not None:
                others.pop(parked, None)
                if not others:
                    del self._by_key[key]
