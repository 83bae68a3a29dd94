# compiled: mypyc
"""Requests that wait for the sync of a decision's records: they get their replies after it, or an error if it fails.

Requests that only read wait, too: no client sees a record that a power failure could undo.

Knows futures and their replies, not the decision. A future that is already done, since its request no longer waits, is
left alone.
"""

from __future__ import annotations

from asyncio import Future, gather
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from barnabas.broker.coordinator.runtime.outcome import as_coordinator_error
from barnabas.broker.runtime.clock import Timer
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.protocol.errors import ErrorCode, KafkaError

R = TypeVar("R")

_log = logger("coordinator")
Waiting = list[tuple[Future[Any], Any]]
"""The waiting futures, with their replies."""


class WhenSynced:
    """The callback when the records of a decision are on the disk, or never will be: `act`, then the replies.

    No closure: compiled, one that is named in another makes a cycle.
    """

    __slots__ = ("_act", "_overdue", "_waiting")

    def __init__(self, act: Callable[[], None], waiting: Waiting, overdue: Timer | None) -> None:
        self._act = act
        self._waiting = waiting
        self._overdue = overdue

    def __call__(self, done: Future[None]) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
        failure = None if done.cancelled() else done.exception()
        if failure is not None or done.cancelled():
            code = failure.code if isinstance(failure, KafkaError) else ErrorCode.KAFKA_STORAGE_ERROR
            give_up(self._waiting, code, "the coordinator's log could not be synced")
            return
        self._act()
        for future, result in self._waiting:
            if not future.done():
                future.set_result(result)


def once_synced(response: R, unsynced: Sequence[Future[None]]) -> Reply[R]:
    """Return a response that is ready once these futures, which it depends on, are done. KafkaError if one fails."""
    if not unsynced:
        return response
    return reply_to(lambda: gather(*unsynced), partial(_response, response), _not_synced)


def _response(response: R, _: list[None]) -> R:
    return response


def _not_synced(failure: KafkaError) -> Any:
    raise KafkaError(as_coordinator_error(failure.code), "the coordinator's log could not be synced")


def log_if_not_synced(done: Future[None]) -> None:
    """Log the failed sync of a record that no request waits for."""
    if not done.cancelled() and done.exception() is not None:
        _log.warning(line("coordinator's record not synced", reason=done.exception()))


def give_up(waiting: Waiting, code: ErrorCode, why: str) -> None:
    """Complete all of them with an error, translated for clients of a coordinator."""
    for future, _ in waiting:
        refuse(future, as_coordinator_error(code), why)


def refuse(future: Future[Any], code: ErrorCode, message: str) -> None:
    """Complete the future with an error, unless it is done."""
    if not future.done():
        future.set_exception(KafkaError(code, message))
