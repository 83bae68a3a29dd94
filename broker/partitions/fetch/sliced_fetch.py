"""A Fetch of very many partitions: read in slices, with other requests in between.

Knows how such a request is read, parked and answered, not how a partition is read. It is not compiled, because it
awaits: docs/compiled.md.

Theory of operation: the request is parked before it is read, so no change to a partition that was already read is
missed. Partitions that were woken are read again for the answer.
"""

from __future__ import annotations

from asyncio import Future, ensure_future
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.protocol.hot.fetch import FetchAnswer, FetchedPartition

if TYPE_CHECKING:
    from barnabas.broker.partitions.purgatory import DelayedOperation, Woken
    from barnabas.broker.runtime.replies import Reply
    from barnabas.broker.runtime.scheduler import CooperativeScheduler
    from barnabas.storage.steps import Steps

T = TypeVar("T")
_READING: Final = WorkClass(may_begin_again=False)  # the audit is notified once of each


class Fetch(Protocol):
    """One request while it is being answered."""

    opens_later: bool

    def park(self) -> DelayedOperation[Woken] | None:
        """Wait for a change of any partition from now on; return None if the request does not wait."""

    def read_in_steps(self, woken: Woken = None) -> Steps[list[FetchedPartition]]:
        """Read the available data, in the order of the request; only the woken partitions, if these are known."""

    def open_all(self) -> Steps[None]:
        """Open the logs that are not open."""

    def answer_now(self, results: list[FetchedPartition], *, is_due: bool) -> Steps[FetchAnswer | None]:
        """Return the answer; None if it is not due and there is something to wait for."""

    def are_ready(self, woken: Collection[tuple[str, int]]) -> bool:
        """Return whether there is enough data now that these partitions have changed."""


def answer_in_turns(fetch: Fetch, slices: CooperativeScheduler) -> Future[FetchAnswer]:
    """Return the answer. Cancelling it cancels everything that it waits for."""
    return ensure_future(_answer(fetch, slices))


async def _answer(fetch: Fetch, slices: CooperativeScheduler) -> FetchAnswer:
    waiting = fetch.park()
    try:
        answer = await _answer_now(fetch, slices, await _read(fetch, slices), is_due=waiting is None)
        if answer is not None:
            return answer
        assert waiting is not None
        if not waiting.done() and not fetch.are_ready(waiting.woken or ()):
            over: Future[None] = slices.loop.create_future()
            waiting.add_done_callback(lambda _: None if over.done() else over.set_result(None))
            await over
        woken = waiting.result() if waiting.done() else waiting.woken
        last = await _answer_now(fetch, slices, await _read(fetch, slices, woken), is_due=True)
        assert last is not None
        return last
    finally:
        if waiting is not None:
            waiting.cancel()


async def _read(fetch: Fetch, slices: CooperativeScheduler, woken: Woken = None) -> list[FetchedPartition]:
    results = await _come(slices.in_slices(partial(fetch.read_in_steps, woken), _READING))
    if fetch.opens_later:
        await _come(slices.in_slices(fetch.open_all))
        results = await _come(slices.in_slices(fetch.read_in_steps, _READING))
    return results


async def _answer_now(
    fetch: Fetch, slices: CooperativeScheduler, results: list[FetchedPartition], *, is_due: bool
) -> FetchAnswer | None:
    return await _come(slices.in_slices(partial(fetch.answer_now, results, is_due=is_due), _READING))


async def _come(reply: Reply[T]) -> T:
    return await reply if isinstance(reply, Future) else reply
