"""What a part has under way, and waiting until all of that has ended: what moving the clock ahead asks of each part.

Knows neither what the part does nor who waits. What is begun later is not waited for: under a steady load a part may
never be without any.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Hashable, Iterable


class InFlight:
    """Of one part, which tells the end of each thing it had under way, by what it named it with."""

    def __init__(self, loop: AbstractEventLoop, under_way: Callable[[], Iterable[Hashable]]) -> None:
        self._loop = loop
        self._under_way = under_way
        self._waiting: dict[Future[None], set[Hashable]] = {}

    def all_ended(self) -> Future[None] | None:
        """Done when all that is under way now has ended; None where there is nothing."""
        left = set(self._under_way())
        if not left:
            return None
        waiting: Future[None] = self._loop.create_future()
        self._waiting[waiting] = left
        return waiting

    def ended(self, name: Hashable) -> None:
        """One thing came to its end, or to where it can go no further for now."""
        if not self._waiting:
            return
        for waiting, left in list(self._waiting.items()):
            left.discard(name)
            if not left or waiting.done():
                del self._waiting[waiting]
                if not waiting.done():
                    waiting.set_result(None)

    def every_one_ended(self) -> None:
        """The part is given up with all it had."""
        for left in list(self._waiting.values()):
            for name in list(left):
                self.ended(name)
