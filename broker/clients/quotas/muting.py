"""Connections that are not served for a while: what they wait for, and who lets all of them go.

Knows no connection: it gives futures, which are done when the time is over by the clock that clients are told. One that
is cancelled, since its connection is gone, holds nothing any more.
"""

from __future__ import annotations

from asyncio import Future, get_running_loop
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock, Timer


class Muting:
    """Those of one node that are muted."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timers: dict[Future[None], Timer] = {}
        self._is_closed = False

    def __len__(self) -> int:
        """How many are muted now."""
        return len(self._timers)

    def mute(self, throttle_ms: int) -> Future[None]:
        """Done once the time is over, or all are let go."""
        future: Future[None] = get_running_loop().create_future()
        if self._is_closed:
            future.set_result(None)
            return future
        self._timers[future] = self._clock.call_later(throttle_ms, partial(_end, future))
        future.add_done_callback(self._forget)
        return future

    def close(self) -> None:
        """Let all go, and mute nobody from now on."""
        self._is_closed = True
        for future in list(self._timers):
            _end(future)

    def open(self) -> None:
        """Mute again."""
        self._is_closed = False

    def _forget(self, future: Future[None]) -> None:
        timer = self._timers.pop(future, None)
        if timer is not None:
            timer.cancel()


def _end(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
