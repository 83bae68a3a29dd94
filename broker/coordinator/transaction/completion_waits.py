# compiled: mypyc
"""The requests that wait until a transaction is complete: writes that arrived while it was still being finished.

Also counts the completed transactions, by how they ended. Each wait has a time limit; a request whose wait is over
tries again.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from functools import partial

from barnabas.broker.runtime.clock import Clock, Timer


class TransactionCompletionWaits:
    """The waits of one broker, by transactional id."""

    def __init__(self, clock: Clock, loop: AbstractEventLoop) -> None:
        self._clock = clock
        self._loop = loop
        self._waiting: dict[str, dict[Future[None], Timer]] = {}
        self.committed, self.aborted = 0, 0
        """How many transactions were completed in this run."""

    def __len__(self) -> int:
        """Return the number of ids that requests wait for."""
        return len(self._waiting)

    def wait(self, transactional_id: str, limit_ms: int) -> Future[None]:
        """Return a future that is done when the id's prepared transaction is complete, or after `limit_ms`."""
        waiting: Future[None] = self._loop.create_future()
        timer = self._clock.call_later(limit_ms, partial(self._give_up, transactional_id, waiting))
        self._waiting.setdefault(transactional_id, {})[waiting] = timer
        return waiting

    def completed(self, transactional_id: str, *, is_commit: bool) -> None:
        """Count the completed transaction and wake the requests that wait for it."""
        if is_commit:
            self.committed += 1
        else:
            self.aborted += 1
        if self._waiting:
            for waiting, timer in self._waiting.pop(transactional_id, {}).items():
                timer.cancel()
                if not waiting.done():
                    waiting.set_result(None)

    def _give_up(self, transactional_id: str, waiting: Future[None]) -> None:
        others = self._waiting[transactional_id]
        del others[waiting]
        if not others:
            del self._waiting[transactional_id]
        if not waiting.done():
            waiting.set_result(None)
