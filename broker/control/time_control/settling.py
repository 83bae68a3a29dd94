"""Detection that all work begun by timers is complete: the condition that a move of the clock waits for.

Knows of each part of a running broker whether it is idle, not what it does. Actions of clients are not awaited: a
member that is expected to rejoin, an answer that is to be read.

Theory of operation: the work begun by a timer either ends in its own callback, or is known to one of the parts below as
in progress, with its end: work in slices, with the threads and processes that it waits for; syncs; a pass of retention
or removals; markers to write. The end of one may begin another: a check for transactions over their timeout begins
their markers, and these a sync. So all parts are checked again when the work in progress has ended, and after some
turns of the event loop, for callbacks that are due at once. Clients may keep a part busy forever: their new work is not
distinguished from the rest, so the number of such passes is limited.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.broker.partitions.flush.group_flush import GroupFlush
    from barnabas.broker.partitions.housekeeping import Housekeeping
    from barnabas.broker.services import Services

PATIENCE_S = 60.0
"""By the machine's clock: work that takes longer is reported, and no longer awaited."""
_QUIET_TURNS = 3
_PASSES_MAX = 16


class Unsettled(Exception):
    """Some work takes too long. str() says which."""


class Settling:
    """Waits until one broker, with all its nodes, is idle."""

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
        """Return when the work begun before is complete. Raise Unsettled if some of it takes too long."""
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
        """Sync the data that is due now, before the next check by the machine's clock: only synced data is cleaned."""
        self._housekeeping.flush_due()

    def look_again(self) -> None:
        """Do the periodic checks that are due at the end of a move.

        Transactions over their timeout and records over their retention are searched for periodically; without this
        they would still be there after a move of the clock by the timeout.
        """
        for node in self._services.every_node:
            if (coordinator := node.deferred_transactions.built) is not None:
                coordinator.abort_timed_out()
        self._housekeeping.retain_now()

    def answer_parked(self) -> None:
        """Wake the parked requests of an aborted move: they may have a deadline that is far away now."""
        self._services.purgatory.wake_all()

    def _waits(self) -> dict[Future[Any], str]:
        """Return a future for each part with work in progress, and a description of that work."""
        services = self._services
        parts: list[tuple[Future[Any] | None, str]] = [
            (services.upkeep.under_way_now.all_ended(), "logs are cleaned, recovered or looked through"),
            (self._flush.all_synced(), "records are synced"),
            (self._housekeeping.under_way.all_ended(), "retention or removals go on"),
        ]
        built = [node.deferred_transactions.built for node in services.every_node]
        parts += [(each.markers.under_way.all_ended(), "transactions are ended") for each in built if each is not None]
        return {ended: what for ended, what in parts if ended is not None}
