"""An answer that is computed once something else is done, by a request that may then be parked.

Knows futures and parked requests, not their content. Invariants: cancelling a returned future cancels what it waits
for, so nothing of a closed connection stays behind; no exception refers to the future that it is set on.
"""

from __future__ import annotations

from asyncio import CancelledError, Future
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from barnabas.broker.partitions.purgatory import DelayedOperation

T = TypeVar("T")


def answer_after(
    first: Future[Any] | None, answer: Callable[[], T | DelayedOperation[T] | Future[T]]
) -> T | DelayedOperation[T] | Future[T]:
    """Return the result of `answer()` after `first`, or at once if that is None. `first` may be cancelled here."""
    if first is None:
        return answer()
    answered: Future[T] = first.get_loop().create_future()
    first.add_done_callback(partial(_ask, answered, answer))
    answered.add_done_callback(partial(_give_up, first))
    return answered


def _ask(answered: Future[T], answer: Callable[[], T | DelayedOperation[T] | Future[T]], first: Future[Any]) -> None:
    if answered.done():
        return
    reply, failure = _reply(answer, first)
    if isinstance(reply, (DelayedOperation, Future)):
        answered.add_done_callback(partial(_give_up, reply))
        reply.add_done_callback(partial(_settle, answered))
    elif isinstance(failure, CancelledError):
        answered.cancel()
    elif failure is not None:
        answered.set_exception(failure)
    else:
        answered.set_result(reply)


def _reply(answer: Callable[[], Any], first: Future[Any]) -> tuple[Any, BaseException | None]:
    """Call `answer` in a function without access to the future, so that an error's traceback makes no cycle with it."""
    if first.cancelled():
        return None, CancelledError()
    failure = first.exception()
    if failure is not None:
        return None, failure
    try:
        return answer(), None
    except Exception as error:
        return None, error


def _settle(answered: Future[T], reply: DelayedOperation[T] | Future[T]) -> None:
    if answered.done():
        return
    failure = CancelledError() if reply.cancelled() else reply.exception()
    if isinstance(failure, CancelledError):
        answered.cancel()
    elif failure is None:
        answered.set_result(reply.result())
    else:
        answered.set_exception(failure)


def _give_up(awaited: Future[Any] | DelayedOperation[Any], answered: Future[Any]) -> None:
    if answered.cancelled() and not awaited.done():
        awaited.cancel()
