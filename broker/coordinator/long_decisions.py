"""Decisions that may take longer than a turn of the event loop: in slices, and one at a time for each entity.

Knows neither groups nor what is decided. Kafka's coordinator computes as long as it takes, and all requests for a
partition wait meanwhile. Here only those for the same entity wait, in the order in which they came: so the answers are
the same ones, and whoever is in line is never decided about on a state that is about to change.

A decision without a pause is made at once, unless somebody is before it: that is nearly all of them. In each turn of
the event loop goes on at most one of an entity.

Invariants: one decision of an entity is under way at a time; each in line has its turn, whatever becomes of those
before it, and also if nobody waits for its answer any more; an entity without a line holds no memory here.
"""

from __future__ import annotations

from asyncio import Future
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from barnabas.broker.replies import Reply, reply_to
from barnabas.broker.slices import Kind, Slices
from barnabas.storage.steps import Steps

T = TypeVar("T")

_DECIDING = Kind()


class Made(NamedTuple, Generic[T]):
    """A decision that was carried out."""

    reply: Reply[T]


Decision: TypeAlias = Steps[Made[T]]
"""Decides, and in its last step carries out what it decided. It may be given up at any other, and begun again."""


class LongDecisions:
    """Who waits for whom. Entities without a line are not there."""

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._lines: dict[str, deque[Future[None]]] = {}
        """Those who wait behind the decision under way, each for its turn."""

    def made(self, entity_id: str, decide: Callable[[], Decision[T]]) -> Reply[T]:
        """The reply of a decision about this entity: now, if it needs no pause. An exception of it is raised likewise.

        `decide` makes the steps, perhaps several times.
        """
        line = self._lines.get(entity_id)
        if line is not None:
            line.append(self._slices.loop.create_future())
            turn: Reply[None] = line[-1]
            return reply_to(partial(_itself, turn), lambda _: self._begin(entity_id, decide))
        steps = decide()
        try:
            next(steps)
        except StopIteration as over:
            made: Made[T] = over.value
            return made.reply
        steps.close()
        self._lines[entity_id] = deque()
        return self._begin(entity_id, decide)

    def _begin(self, entity_id: str, decide: Callable[[], Decision[T]]) -> Reply[T]:
        """It is the first in line."""
        work: Reply[Made[T]] | None = None
        try:
            work = self._slices.in_slices(decide, _DECIDING)
            return reply_to(partial(_itself, work), _reply_of)
        finally:
            if isinstance(work, Future):
                work.add_done_callback(partial(self._next, entity_id))
            elif self._lines[entity_id]:
                self._slices.loop.call_soon(self._next, entity_id)
            else:
                del self._lines[entity_id]

    def _next(self, entity_id: str, _: Future[Any] | None = None) -> None:
        line = self._lines[entity_id]
        if line:
            line.popleft().set_result(None)
        else:
            del self._lines[entity_id]


def _itself(reply: Reply[T]) -> Reply[T]:
    return reply


def _reply_of(made: Made[T]) -> Reply[T]:
    return made.reply
