"""Muted connections, which are not served for a while: each waits for a future, and all can be released at once.

Knows no connection: it creates futures, which are done when the time is over by the clock that clients see. A future
that is cancelled, because its connection is closed, uses no resources any more.
"""

from __future__ import annotations

from asyncio import Future, get_running_loop
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock, Timer


class MutedConnections:
    """The muted connections of one node."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timers: dict[Future[None], Timer] = {}
        self._is_closed = False

    def __len__(self) -> int:
        """Return the number of connections that are muted now."""
        return len(self._timers)

    def mute(self, throttle_ms: int) -> Future[None]:
        """Return a future that is done after the throttle time, or when all are released."""
        future: Future[None] = get_running_loop().create_future()
        if self._is_closed:
            future.set_result(None)
            return future
        self._timers[future] = self._clock.call_later(throttle_ms, partial(_end, future))
        future.add_done_callback(self._forget)
        return future

    def close(self) -> None:
        """Release all, and mute no connection from now on."""
        self._is_closed = True
        for future in list(self._timers):
            _end(future)

    def open(self) -> None:
        """Allow muting again."""
        self._is_closed = False

    def _forget(self, future: Future[None]) -> None:
        timer = self._timers.pop(future, None)
        if timer is not None:
            timer.cancel()


def _end(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
