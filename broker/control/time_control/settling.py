"""When everything is done that was begun because its time had come: what moving the clock ahead waits for.

Knows of each part of a running broker whether it is idle, not what it does. Nothing is waited for here that a client
has to do: a member that is expected to rejoin, an answer that is to be read.

Theory of operation: whatever a timer brings about either ends in its own callback, or is something that one of the
parts below knows to be under way, and tells the end of: work in slices, with the threads and processes that it waits
for; syncs; a pass of retention or removals; markers to write. What one ends may begin another: a look for transactions
that take too long begins their markers, and these a sync. So all are asked anew when what was under way has ended, and
after some turns of the event loop, for callbacks that are due at once. Clients may keep a part busy for ever: what they
begin meanwhile is not told from the rest, so after some such passes it is not waited for any more.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.broker.partitions.flush.flushing import GroupFlush
    from barnabas.broker.partitions.housekeeping import Housekeeping
    from barnabas.broker.services import Services

PATIENCE_S = 60.0
"""Of the machine's time: what takes longer is told, and not waited for any more."""
_QUIET_TURNS = 3
_PASSES_MAX = 16


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
        """Return when nothing is under way that was begun before. Unsettled when something has gone on for too long."""
        for _ in range(_PASSES_MAX):
            waits = self._waits()
            for _ in range(_QUIET_TURNS):
                if not waits:
                    await self._services.upkeep.next_turn()
                    waits = self._waits()
            if not waits:
                return
            _, pending = await asyncio.wait(waits, timeout=self._patience_s)
            if pending:
                raise Unsettled(f"{waits[pending.pop()]} for more than {self._patience_s:g} s")

    def flush_due(self) -> None:
        """Sync what is to be synced by now, and not when the machine's time says so: only that is compacted."""
        self._housekeeping.flush_due()

    def look_again(self) -> None:
        """The clock stands at the end of a move: do what has fallen due since it was last looked for.

        Transactions that take too long and records that are too old are looked for every so often, and whoever moves
        the clock by a timeout would else find them there still.
        """
        for node in self._services.every_node:
            if (coordinator := node.deferred_transactions.built) is not None:
                coordinator.abort_timed_out()
        self._housekeeping.retain_now()

    def answer_parked(self) -> None:
        """A move is given up: requests parked on the way may have been given a deadline that is far away now."""
        self._services.waiters.wake_all()

    def _waits(self) -> dict[Future[Any], str]:
        """What is done when all that goes on now has ended, and what that is, in words."""
        services = self._services
        parts: list[tuple[Future[Any] | None, str]] = [
            (services.upkeep.under_way_now.all_ended(), "logs are cleaned, recovered or looked through"),
            (self._flush.all_synced(), "records are synced"),
            (self._housekeeping.under_way.all_ended(), "retention or removals go on"),
        ]
        built = [node.deferred_transactions.built for node in services.every_node]
        parts += [(each.markers.under_way.all_ended(), "transactions are ended") for each in built if each is not None]
        return {ended: what for ended, what in parts if ended is not None}
