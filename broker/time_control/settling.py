"""When everything is done that was begun because its time had come: what moving the clock ahead waits for.

Knows of each part of a running broker whether it is idle, not what it does. Nothing is waited for here that a client
has to do: a member that is expected to rejoin, an answer that is to be read.

Theory of operation: whatever a timer brings about either ends in its own callback, or is something that one of the
parts below knows to be under way, and tells the end of: work in slices, with the threads and processes that it waits
for; syncs; a pass of retention or removals; markers to write. What one ends may begin another. So all are asked anew
after each, and the event loop turns a few times after the last, for callbacks that are due at once.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.context import Services
    from barnabas.broker.partitions.flushing import GroupFlush
    from barnabas.broker.partitions.housekeeping import Housekeeping

PATIENCE_S = 60.0
"""Of the machine's time: what takes longer is told, and not waited for any more."""
_QUIET_TURNS = 3


class Unsettled(Exception):
    """Something goes on for too long. str() says what."""


class Settling:
    """Of one broker, however many nodes it has."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        services: Services,
        housekeeping: Housekeeping,
        flush: GroupFlush,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._loop = loop
        self._services = services
        self._housekeeping = housekeeping
        self._flush = flush
        self._patience_s = patience_s

    async def __call__(self) -> None:
        """Return when nothing is under way. Unsettled when one thing alone has gone on for too long."""
        quiet_turns = 0
        while quiet_turns < _QUIET_TURNS:
            waits = next(self._waits(), None)
            if waits is None:
                quiet_turns += 1
                await self._services.upkeep.next_turn()
                continue
            quiet_turns = 0
            what, ends = waits
            await asyncio.wait([ends], timeout=self._patience_s)
            if not ends.done():
                raise Unsettled(f"{what} for more than {self._patience_s:g} s")

    def flush_due(self) -> None:
        """Sync what is to be synced by now, and not when the machine's time says so: only that is compacted."""
        self._housekeeping.flush_due()

    def _waits(self) -> Iterator[tuple[str, Future[None]]]:
        """What goes on, in words, and what is done when it has ended."""
        services = self._services
        parts = [
            ("logs are cleaned, recovered or looked through", services.upkeep.idle),
            ("records are synced", self._flush.idle),
            ("retention or removals go on", self._housekeeping.idle),
        ]
        built = [node.deferred_transactions.built for node in services.every_node]
        parts += [("transactions are ended", each.markers.idle) for each in built if each is not None]
        for what, idle in parts:
            ends = idle.wait()
            if ends is not None:
                yield what, ends
