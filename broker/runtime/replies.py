"""A reply that is here, or a future of it: what a handler makes of either, in one place.

Coordinators and the disk answer at once where they can. So does whoever is built on them: nothing is made, no task and
no future, for what need not be waited for. A handler returns its response or a future of it; the dispatcher
(broker/api/) waits.

Invariants: a future that comes in is never cancelled from here, since what it stands for goes on whether anybody still
wants the answer or not; `respond` runs once, in the turn in which the reply has come.
"""

from __future__ import annotations

from asyncio import CancelledError, Future, gather
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar, Union, cast

from barnabas.protocol.errors import KafkaError

T = TypeVar("T")
R = TypeVar("R")
Reply: TypeAlias = Union[T, "Future[T]"]


def reply_to(
    ask: Callable[[], Reply[T]],
    respond: Callable[[T], Reply[R]],
    refused: Callable[[KafkaError], R] | None = None,
) -> Reply[R]:
    """What `respond` makes of what `ask` gives, or `refused` of its KafkaError: now if that is here, else later.

    Other errors, and KafkaErrors without `refused`, come out as they are, now or later.
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
    reply.add_done_callback(partial(_go_on, made, respond, refused))
    return made


def reply_to_all(
    replies: Sequence[Reply[Any]], respond: Callable[[list[T]], R], refused: Callable[[KafkaError], T]
) -> Reply[R]:
    """What `respond` makes of all of them, in their order, once each is here or refused."""
    late = [reply for reply in replies if isinstance(reply, Future)]
    if not late:
        return respond(cast("list[T]", replies))

    def fill(came: list[T | BaseException]) -> R:
        coming = iter(came)
        whole = [next(coming) if isinstance(reply, Future) else reply for reply in replies]
        return respond([_judged(each, refused) for each in whole])

    return reply_to(lambda: gather(*late, return_exceptions=True), fill)


def pass_on(reply: Reply[T], to: Future[T]) -> None:
    """Have `to` be what the reply is, or comes to be, unless nobody waits for it any more."""
    if isinstance(reply, Future):
        reply.add_done_callback(partial(_go_on, to, _itself, None))
    elif not to.done():
        to.set_result(reply)


def answer_nobody(reply: Future[Any]) -> None:
    """It goes on, and nobody waits for it: its failure is taken here, for asyncio logs one that nobody takes."""
    reply.add_done_callback(_take_failure)


def _take_failure(reply: Future[Any]) -> None:
    if not reply.cancelled():
        reply.exception()


def _judged(each: T | BaseException, refused: Callable[[KafkaError], T]) -> T:
    if isinstance(each, KafkaError):
        return refused(each)
    if isinstance(each, BaseException):
        raise each
    return each


def _go_on(
    made: Future[Any], respond: Callable[[Any], Any], refused: Callable[[KafkaError], Any] | None, reply: Future[Any]
) -> None:
    result, failure = _outcome(reply, respond, refused)
    if made.done():
        return  # nobody waits any more
    if isinstance(result, Future):
        result.add_done_callback(partial(_go_on, made, _itself, None))
    elif failure is None:
        made.set_result(result)
    elif isinstance(failure, CancelledError):
        made.cancel()
    else:
        made.set_exception(failure)


def _outcome(
    reply: Future[Any], respond: Callable[[Any], Any], refused: Callable[[KafkaError], Any] | None
) -> tuple[Any, BaseException | None]:
    """Where the future that is made is not known: a traceback of an error of ours makes no cycle of the two."""
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


def _itself(result: T) -> T:
    return result
