"""Who waits for a transaction to be complete: writes that came while the one before was still being finished.

Also counts them, by how they ended.
Nobody waits long: there is a limit to each wait, and who is signalled that it is over looks again.
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
        """For how many ids somebody waits."""
        return len(self._waiting)

    def wait(self, transactional_id: str, limit_ms: int) -> Future[None]:
        """Done when the id's prepared transaction is complete, or after `limit_ms`."""
        waiting: Future[None] = self._loop.create_future()
        timer = self._clock.call_later(limit_ms, partial(self._give_up, transactional_id, waiting))
        self._waiting.setdefault(transactional_id, {})[waiting] = timer
        return waiting

    def completed(self, transactional_id: str, *, is_commit: bool) -> None:
        """It is complete."""
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
