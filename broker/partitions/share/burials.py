"""The share partitions whose dead letters are being written, of all nodes of a process.

The next load of such a share partition waits for them: its records are stored as archiving until their dead letters are
written, and would get them twice. Only a kill makes that happen.

Invariant: each write that begins also ends, unless the broker stops.
"""

from __future__ import annotations

from asyncio import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from barnabas.broker.partitions.share.persister import SharePartitionKey


class Burials:
    """How many writes of each share partition are to end before its state is loaded again."""

    def __init__(self) -> None:
        self._counts: dict[SharePartitionKey, int] = {}
        self._ended: dict[SharePartitionKey, Future[None]] = {}

    def begin(self, key: SharePartitionKey) -> None:
        """Count a write that begins."""
        self._counts[key] = self._counts.get(key, 0) + 1

    def end(self, key: SharePartitionKey) -> None:
        """Count a write that has ended; after the last one those that wait may load the state."""
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]
            ended = self._ended.pop(key, None)
            if ended is not None:
                ended.set_result(None)

    def ended(self, key: SharePartitionKey, loop: AbstractEventLoop) -> Future[None] | None:
        """Return a future that is done when no write is under way; None if there is none. It must not be cancelled."""
        if key not in self._counts:
            return None
        if key not in self._ended:
            self._ended[key] = loop.create_future()
        return self._ended[key]
