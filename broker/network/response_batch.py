# compiled: mypyc
"""When a response leaves: at once, or together with others at the end of a turn of the event loop.

Responses that leave one by one wake clients one by one: each reads one response, sends one request and sleeps again,
and to wake a process is more work for the kernel than to send a few bytes. Responses of one turn, sent together, find
most of the clients that wait for them awake already. Where a turn serves few connections there is nothing to gain, and
a callback at its end costs as much as sending.

Knows neither sockets nor the content of a response.

Theory of operation: an event loop does not report how many sockets are ready. So after every AT_ONCE responses one is
held, and those that come behind it in that turn; if CROWD were held, the next turn does the same.

Invariants: no response is held where there are fewer connections than CROWD; none is held longer than until the loop
receives again, nor behind HELD_MAX others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from typing import Final, Protocol

AT_ONCE: Final = 32
CROWD: Final = 8
HELD_MAX: Final = 64


class BatchedConnection(Protocol):
    """A connection, as a turn sees it."""

    def send_held(self) -> None:
        """Send the held response, if it has not been sent. Raises nothing."""


class ResponseBatch:
    """The turns of one loop, one after the other."""

    __slots__ = ("_connections", "_held", "_is_ending", "_loop", "_sent_count", "at_once_count")

    def __init__(self, loop: asyncio.AbstractEventLoop, connections: Sized) -> None:
        """Start with no held response. `connections`: all that there are."""
        self.at_once_count = AT_ONCE
        """How many responses leave at once before one is held. Every sender of a response decrements it."""
        self._connections = connections
        self._held: list[BatchedConnection] = []
        self._is_ending = False
        self._loop = loop
        self._sent_count = 0

    def hold(self, holder: BatchedConnection) -> None:
        """Have `holder` send its response at the end of this turn; at once where there are too few connections."""
        if not self._is_ending:
            if len(self._connections) < CROWD:
                self.at_once_count = AT_ONCE
                holder.send_held()
                return
            self._is_ending = True
            self._loop.call_soon(self._end)
        self._held.append(holder)
        if len(self._held) == HELD_MAX:
            self._send()

    def _end(self) -> None:
        self._is_ending = False
        self._send()
        if self._sent_count < CROWD:
            self.at_once_count = AT_ONCE
        self._sent_count = 0

    def _send(self) -> None:
        held, self._held = self._held, []
        self._sent_count += len(held)
        for holder in held:
            holder.send_held()
