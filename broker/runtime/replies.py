# compiled: mypyc
"""A reply that is available now, or a future of it: how a handler continues with either, in one place.

Coordinators and the disk answer at once where they can. So does code that is built on them: no task and no future is
made where there is nothing to wait for. A handler returns its response or a future of it; the dispatcher (broker/api/)
waits.

Work that a decision has begun continues even if no client waits for the answer any more: `reply_to`. A read is given
up with its client: `answer_after`.

Invariants: a future that comes in is never cancelled by `reply_to`; cancelling what `answer_after` returns cancels what
it waits for, so nothing of a closed connection stays behind; `respond` runs once, in the turn in which the reply has
come; no exception refers to the future that it is set on.
"""

from __future__ import annotations

from asyncio import CancelledError, Future
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar, Union

from barnabas.protocol.errors import KafkaError

T = TypeVar("T")
R = TypeVar("R")
Reply: TypeAlias = Union[T, "Future[T]"]


def reply_to(
    ask: Callable[[], Reply[T]],
    respond: Callable[[T], Reply[R]],
    refused: Callable[[KafkaError], R] | None = None,
) -> Reply[R]:
    """Apply `respond` to the reply of `ask`, or `refused` to its KafkaError: now if the reply is here, else later.

    Other errors, and KafkaErrors without `refused`, are raised as they are, now or later.
    """
    try:
        reply = ask()
    except KafkaError as error:
        if refused is None:
            raise
        return refused(error)
    if not isinstance(reply, Future):
        return respond(reply)
    made: Future[R] = reply.get_loop().create_future()
    reply.add_done_callback(partial(_go_on, made, respond, refused, False))
    return made


def answer_after(first: Future[Any] | None, answer: Callable[[], R]) -> R | Future[Any]:
    """Return the result of `answer()` after `first`, or at once if that is None. `first` may be cancelled here.

    `answer` may return a future, or a parked request (partitions/purgatory.py): its result is then the future's.
    """
    if first is None:
        return answer()
    made: Future[Any] = first.get_loop().create_future()
    first.add_done_callback(partial(_go_on, made, partial(_ask, answer), None, True))
    made.add_done_callback(partial(_give_up, first))
    return made


def reply_to_all(
    replies: Sequence[Reply[Any]], respond: Callable[[list[T]], Reply[R]], refused: Callable[[KafkaError], T]
) -> Reply[R]:
    """Apply `respond` to all replies, in their order, once each is here or refused."""
    late = [reply for reply in replies if isinstance(reply, Future) and not reply.done()]
    if not late:
        return respond(_results(replies, refused))
    made: Future[R] = late[0].get_loop().create_future()
    countdown = _Countdown(len(late), partial(_answer_all, made, replies, respond, refused))
    for reply in late:
        reply.add_done_callback(countdown.came)
    return made


class _Countdown:
    """Counts replies that come, and goes on after the last one."""

    __slots__ = ("_go_on", "_left")

    def __init__(self, left: int, go_on: Callable[[], None]) -> None:
        self._left = left
        self._go_on = go_on

    def came(self, reply: Any) -> None:
        _take_failure(reply)
        self._left -= 1
        if not self._left:
            self._go_on()


def pass_on(reply: Reply[T], to: Future[T]) -> None:
    """Give `to` the result of the reply, now or later, unless `to` is done before."""
    if isinstance(reply, Future):
        reply.add_done_callback(partial(_go_on, to, _itself, None, False))
    elif not to.done():
        to.set_result(reply)


def ignore_result(reply: Any) -> None:
    """Ignore the result of a future or a parked request (partitions/purgatory.py).

    Its exception is retrieved, since asyncio logs exceptions that are never retrieved.
    """
    reply.add_done_callback(_take_failure)


def _take_failure(reply: Any) -> None:
    if not reply.cancelled():
        reply.exception()


def _answer_all(
    made: Future[Any],
    replies: Sequence[Reply[Any]],
    respond: Callable[[list[Any]], Any],
    refused: Callable[[KafkaError], Any],
) -> None:
    result, failure = _outcome_of_all(replies, respond, refused)
    if failure is None:
        pass_on(result, made)
    elif not made.done():
        _fail(made, failure)


def _outcome_of_all(
    replies: Sequence[Reply[Any]], respond: Callable[[list[Any]], Any], refused: Callable[[KafkaError], Any]
) -> tuple[Any, BaseException | None]:
    """Return the result or the error, without the new future, as `_outcome` does."""
    try:
        return respond(_results(replies, refused)), None
    except (Exception, CancelledError) as mistake:
        return None, mistake


def _results(replies: Sequence[Reply[Any]], refused: Callable[[KafkaError], T]) -> list[T]:
    """Return the results of replies that are all here. Raises the first error that is no KafkaError."""
    return [_result(reply, refused) if isinstance(reply, Future) else reply for reply in replies]


def _result(reply: Future[Any], refused: Callable[[KafkaError], Any]) -> Any:
    failure = None if reply.cancelled() else reply.exception()
    return refused(failure) if isinstance(failure, KafkaError) else reply.result()


def _go_on(
    made: Future[Any],
    respond: Callable[[Any], Any],
    refused: Callable[[KafkaError], Any] | None,
    gives_up: bool,
    reply: Future[Any],
) -> None:
    """Continue with a reply that came later. gives_up: what is waited for ends with the caller that waits."""
    if gives_up and made.done():
        return
    result, failure = _outcome(reply, respond, refused)
    if made.done():
        return  # the caller has stopped waiting
    if isinstance(result, Future) or (gives_up and hasattr(result, "add_done_callback")):
        if gives_up:
            made.add_done_callback(partial(_give_up, result))
        result.add_done_callback(partial(_go_on, made, _itself, None, gives_up))
    elif failure is None:
        made.set_result(result)
    else:
        _fail(made, failure)


def _fail(made: Future[Any], failure: BaseException) -> None:
    if isinstance(failure, CancelledError):
        made.cancel()
    else:
        made.set_exception(failure)


def _outcome(
    reply: Future[Any], respond: Callable[[Any], Any], refused: Callable[[KafkaError], Any] | None
) -> tuple[Any, BaseException | None]:
    """Return the result or the error. The new future is unknown here: a traceback would make a cycle with it."""
    if reply.cancelled():
        return None, CancelledError()
    failure = reply.exception()
    try:
        if failure is None:
            return respond(reply.result()), None
        if refused is not None and isinstance(failure, KafkaError):
            return refused(failure), None
    except (Exception, CancelledError) as mistake:
        return None, mistake
    return None, failure


def _ask(answer: Callable[[], R], _: object) -> R:
    return answer()


def _give_up(awaited: Any, made: Future[Any]) -> None:
    if made.cancelled() and not awaited.done():
        awaited.cancel()


def _itself(result: T) -> T:
    return result
