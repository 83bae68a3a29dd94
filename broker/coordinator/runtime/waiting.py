"""Those who wait for the answers of a decision: told when its records are on the disk, or that they never will be.

Knows futures and their answers, not what was decided. A future that is done already, since nobody waits any more, is
let be.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from typing import Any

from barnabas.broker.clock import Timer
from barnabas.broker.coordinator.runtime.outcome import as_coordinator_error
from barnabas.protocol.errors import ErrorCode, KafkaError

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


def give_up(waiting: Waiting, code: ErrorCode, why: str) -> None:
    """All of them are answered with an error, as clients of a coordinator know it."""
    for future, _ in waiting:
        refuse(future, as_coordinator_error(code), why)


def refuse(future: Future[Any], code: ErrorCode, message: str) -> None:
    """The answer is an error."""
    if not future.done():
        future.set_exception(KafkaError(code, message))
