"""The operations that a part has under way, and waiting for their end: moving the clock ahead needs this of each part.

Knows neither what the part does nor who waits. Operations that begin later are not waited for: under a steady load a
part may never be without any.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Hashable, Iterable


class InFlight:
    """The operations of one part, which reports the end of each operation by its name."""

    def __init__(self, loop: AbstractEventLoop, under_way: Callable[[], Iterable[Hashable]]) -> None:
        self._loop = loop
        self._under_way = under_way
        self._waiting: dict[Future[None], set[Hashable]] = {}

    def all_ended(self) -> Future[None] | None:
        """Return a future that is done when all operations under way now have ended; None if there are none."""
        left = set(self._under_way())
        if not left:
            return None
        waiting: Future[None] = self._loop.create_future()
        self._waiting[waiting] = left
        return waiting

    def ended(self, name: Hashable) -> None:
        """Report that one operation has ended, or cannot continue for now."""
        if not self._waiting:
            return
        for waiting, left in list(self._waiting.items()):
            left.discard(name)
            if not left or waiting.done():
                del self._waiting[waiting]
                if not waiting.done():
                    waiting.set_result(None)

    def every_one_ended(self) -> None:
        """Report the end of all operations: the part was closed."""
        for left in list(self._waiting.values()):
            for name in list(left):
                self.ended(name)
