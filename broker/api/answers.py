"""What the dispatcher gives back to a connection, and what becomes of an exception."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Sized
from typing import TYPE_CHECKING, Any, TypeAlias

from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.partitions.purgatory import DelayedOperation

_log = logger("api")


class CloseConnection(Exception):
    """The only answer is to close the connection: broken bytes, or acks=0 and an error. Says why, and which API."""

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
        """encode: what to send for the future, once that is done, with a result or an exception.

        may_be_given_up: whether the future is cancelled when the peer leaves; else it goes on, and nobody is answered.
        """
        self.is_pause = is_pause
        """Whether it was answered, and only the requests behind it have to wait."""
        self._future = future
        self._encode = encode
        self._may_be_given_up = may_be_given_up
        self._is_abandoned = False

    def when_answered(self, callback: Callable[[DeferredResponse], None]) -> None:
        """Call `callback(self)` from the event loop once `answer()` can be asked for; never after `abandon()`."""

        def tell(_: object) -> None:
            if not self._is_abandoned:
                callback(self)

        self._future.add_done_callback(tell)

    def answer(self) -> Answer:
        """What to send. CloseConnection as from the dispatcher."""
        return self._encode(self._future)

    def when_encoded(self, note: Callable[[], None]) -> None:
        """Call `note` whenever `answer()` has made what to send."""
        encode = self._encode

        def encode_and_note(future: Any) -> Answer:
            answer = encode(future)
            note()
            return answer

        self._encode = encode_and_note

    def then(self, change: Callable[[Answer], Answer]) -> None:
        """Have `answer()` give what `change` makes of it."""
        encode = self._encode

        def encode_and_change(future: Any) -> Answer:
            return change(encode(future))

        self._encode = encode_and_change

    def abandon(self) -> None:
        """The connection is gone. Cancels the future if that is allowed; other work runs to its end, unanswered."""
        self._is_abandoned = True
        if self._may_be_given_up:
            self._future.cancel()
        else:
            self._future.add_done_callback(_take_failure)


def _take_failure(done: Any) -> None:
    """Nobody is told of it, and asyncio logs a failure that nobody takes."""
    if not done.cancelled():
        done.exception()


def failure_of(done: Later) -> Exception | asyncio.CancelledError | None:
    """Why there is no result, or None. Not raised: the traceback would make a cycle of the error and the future.

    What is no `Exception` is not for a peer: it ends the process, and is raised.
    """
    if done.cancelled():
        return asyncio.CancelledError()
    failure = done.exception()
    if failure is not None and not isinstance(failure, Exception):
        raise failure
    return failure


Later: TypeAlias = "asyncio.Future[Any] | DelayedOperation[Any]"
Answer: TypeAlias = "bytearray | Sequence[Sized] | DeferredResponse | None"
"""One whole response frame; or one in parts, our own bytes and slices of files in turn; or later; or none at all."""


def code_and_message(error: BaseException, api: str, context: RequestContext) -> tuple[ErrorCode, str | None]:
    """The error code and message that stand for an exception; what nobody expected is logged with its stack."""
    if isinstance(error, KafkaError):
        return error.code, error.message
    facts: dict[str, Any] = {"api": api, "version": context.api_version, "client_id": context.client_id}
    if isinstance(error, StorageError):
        _log.error(line("storage failed", **facts, reason=error))
        return ErrorCode.KAFKA_STORAGE_ERROR, str(error)
    _log.error(line("request failed", **facts, error=repr(error)), exc_info=error)
    return ErrorCode.UNKNOWN_SERVER_ERROR, None
