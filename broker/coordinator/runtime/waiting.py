"""Those who wait for the answers of a decision: told when its records are on the disk, or that they never will be.

So are those who only look: what a record says that a power cut could take back is told to nobody.

Knows futures and their answers, not what was decided. A future that is done already, since nobody waits any more, is
let be.
"""

from __future__ import annotations

from asyncio import Future, gather
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from barnabas.broker.coordinator.runtime.outcome import as_coordinator_error
from barnabas.broker.runtime.clock import Timer
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.protocol.errors import ErrorCode, KafkaError

R = TypeVar("R")

_log = logger("coordinator")
Waiting = list[tuple[Future[Any], Any]]
"""Those who wait, with their answers."""


class WhenSynced:
    """What is called when the records of a decision are on the disk, or never will be: `act`, then the answers.

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
    """A response that is made of what these futures stand for, once they are done. KafkaError if one fails."""
    if not unsynced:
        return response

    def respond(_: list[None]) -> R:
        return response

    return reply_to(lambda: gather(*unsynced), respond, _not_synced)


def _not_synced(failure: KafkaError) -> Any:
    raise KafkaError(as_coordinator_error(failure.code), "the coordinator's log could not be synced")


def log_if_not_synced(done: Future[None]) -> None:
    """Of what nobody waits for."""
    if not done.cancelled() and done.exception() is not None:
        _log.warning(line("coordinator's record not synced", reason=done.exception()))


def give_up(waiting: Waiting, code: ErrorCode, why: str) -> None:
    """All of them are answered with an error, as clients of a coordinator know it."""
    for future, _ in waiting:
        refuse(future, as_coordinator_error(code), why)


def refuse(future: Future[Any], code: ErrorCode, message: str) -> None:
    """The answer is an error."""
    if not future.done():
        future.set_exception(KafkaError(code, message))
