"""Whether a part has nothing under way, and waiting until it is so: what moving the clock ahead asks of each part.

Knows neither what the part does nor who waits.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable


class Idle:
    """Of one part, which tells of it whenever it may have come to its end."""

    def __init__(self, loop: AbstractEventLoop, is_idle: Callable[[], bool]) -> None:
        self._loop = loop
        self._is_idle = is_idle
        self._waiting: list[Future[None]] = []

    def wait(self) -> Future[None] | None:
        """Done when nothing is under way; None where that is so now."""
        if self._is_idle():
            return None
        waiting: Future[None] = self._loop.create_future()
        self._waiting.append(waiting)
        return waiting

    def tell(self) -> None:
        """Something came to its end."""
        if self._waiting and self._is_idle():
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                if not each.done():
                    each.set_result(None)
