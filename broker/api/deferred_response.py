# compiled: mypyc
"""What the dispatcher returns to a connection, now or later, and how an exception becomes an answer.

An answer is bytes for one connection, in order; so one that comes later is no reply of `runtime/replies.py`, of which
handlers make their responses, but is made of one here, by `answer_to`; `changed` continues with an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Sized
from functools import partial
from typing import Any, TypeAlias, TypeVar

from barnabas.broker.partitions.purgatory import DelayedOperation
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.replies import ignore_result
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

_log = logger("api")
T = TypeVar("T")


class CloseConnection(Exception):
    """The connection must be closed without an answer: broken bytes, or acks=0 and an error. Has the reason and API."""

    def __init__(self, reason: str, api: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.api = api


class DeferredResponse:
    """A request whose answer comes later. Its connection serves nothing else meanwhile."""

    __slots__ = ("_encode", "_future", "_is_abandoned", "_may_be_given_up", "is_pause")

    def __init__(
        self, future: Later, encode: Callable[[Any], Answer], *, may_be_given_up: bool, is_pause: bool = False
    ) -> None:
        """Defer an answer. encode: makes it from the future, once that is done, with a result or an exception.

        may_be_given_up: whether the future is cancelled when the peer leaves; else it runs to its end without an
        answer.
        """
        self.is_pause = is_pause
        """Whether the request was answered, and only the requests behind it have to wait."""
        self._future = future
        self._encode = encode
        self._may_be_given_up = may_be_given_up
        self._is_abandoned = False

    def when_answered(self, callback: Callable[[DeferredResponse], None]) -> None:
        """Call `callback(self)` from the event loop once `answer()` may be called; never after `abandon()`."""
        self._future.add_done_callback(partial(self._notify, callback))

    def _notify(self, callback: Callable[[DeferredResponse], None], _: object) -> None:
        if not self._is_abandoned:
            callback(self)

    def answer(self) -> Answer:
        """Return the bytes to send. Raises CloseConnection as the dispatcher does."""
        return self._encode(self._future)

    def when_encoded(self, note: Callable[[], None]) -> None:
        """Call `note` whenever `answer()` has made its result."""
        self._encode = partial(_encode_and_note, self._encode, note)

    def then(self, change: Callable[[Answer], Answer]) -> None:
        """Have `answer()` return the result of `change` on its answer."""
        self._encode = partial(_encode_and_change, self._encode, change)

    def abandon(self) -> None:
        """Handle a closed connection: cancel the future if allowed, else let it run to its end without an answer."""
        self._is_abandoned = True
        if self._may_be_given_up:
            self._future.cancel()
        else:
            ignore_result(self._future)


def _encode_and_note(encode: Callable[[Any], Answer], note: Callable[[], None], future: Any) -> Answer:
    answer = encode(future)
    note()
    return answer


def _encode_and_change(encode: Callable[[Any], Answer], change: Callable[[Answer], Answer], future: Any) -> Answer:
    return change(encode(future))


def failure_of(done: Later) -> Exception | asyncio.CancelledError | None:
    """Return the exception of a future, or None. Not raised: the traceback would make a cycle of error and future.

    An exception that is no `Exception` is not for a peer: it ends the process, and is raised.
    """
    if done.cancelled():
        return asyncio.CancelledError()
    failure = done.exception()
    if failure is not None and not isinstance(failure, Exception):
        raise failure
    return failure


Later: TypeAlias = "asyncio.Future[Any] | DelayedOperation[Any]"
Answer: TypeAlias = "bytearray | Sequence[Sized] | DeferredResponse | None"
"""One whole response frame; or one in parts, own bytes and slices of files in turn; or later; or none at all."""


def answer_to(
    reply: T | Later,
    respond: Callable[[T], Answer],
    failed: Callable[[Exception | asyncio.CancelledError], Answer],
    *,
    may_be_given_up: bool = True,
) -> Answer:
    """Return the answer that `respond` makes of a reply, or `failed` of its exception: now if it is here, else later.

    The result of a parked request may be a future, too. may_be_given_up: as in DeferredResponse.
    """
    if isinstance(reply, (asyncio.Future, DelayedOperation)):
        return DeferredResponse(reply, partial(_answered, respond, failed), may_be_given_up=may_be_given_up)
    return respond(reply)


def _answered(
    respond: Callable[[Any], Answer], failed: Callable[[Exception | asyncio.CancelledError], Answer], done: Later
) -> Answer:
    failure = failure_of(done)
    return answer_to(done.result(), respond, failed) if failure is None else failed(failure)


def raise_closing(api: str, failure: BaseException) -> Answer:
    """Raise CloseConnection for a request of this API that could not be decoded."""
    raise failure if isinstance(failure, CloseConnection) else CloseConnection(repr(failure), api)


def changed(answer: Answer, change: Callable[[Answer], Answer]) -> Answer:
    """Return the result of `change` on an answer: now if the answer is here, else once it is."""
    if not isinstance(answer, DeferredResponse):
        return change(answer)
    answer.then(partial(changed, change=change))
    return answer


def code_and_message(error: BaseException, api: str, context: RequestContext) -> tuple[ErrorCode, str | None]:
    """Return the error code and message for an exception; an unexpected one is logged with its traceback."""
    if isinstance(error, KafkaError):
        return error.code, error.message
    facts: dict[str, Any] = {"api": api, "version": context.api_version, "client_id": context.client_id}
    if isinstance(error, StorageError):
        _log.error(line("storage failed", **facts, reason=error))
        return ErrorCode.KAFKA_STORAGE_ERROR, str(error)
    _log.error(line("request failed", **facts, error=repr(error)), exc_info=error)
    return ErrorCode.UNKNOWN_SERVER_ERROR, None
