# compiled: mypyc
"""Decisions that may take longer than a turn of the event loop: in slices, and one at a time for each entity.

Knows neither groups nor decisions. Kafka's coordinator computes as long as it takes, and all requests for a partition
wait in the meantime. Here only those for the same entity wait, in the order of arrival: so the replies are the same,
and no queued request is decided on a state that is about to change.

A decision without a pause is made at once, unless another one for the entity runs: that is nearly all of them. The
queue is one piece of long work: decisions after a long one are made as fast as slices permit, many in a turn.

Invariants: one decision of an entity runs at a time; each queued one is made, whatever the result of earlier ones, and
also if no request waits for its reply any more; an entity without a queue uses no memory here.
"""

from __future__ import annotations

from asyncio import Future
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from barnabas.broker.runtime.replies import Reply, pass_on
from barnabas.broker.runtime.scheduler import CooperativeScheduler, WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps

T = TypeVar("T")

_DECIDING = WorkClass(may_begin_again=False, slice_ms=5, first_ms=5)
"""A slice is long enough for a target of some hundred members: then no request has to wait behind it."""


class CompletedDecision(NamedTuple, Generic[T]):
    """A decision that was carried out."""

    reply: Reply[T]


Decision: TypeAlias = Steps[CompletedDecision[T]]
"""Decides, and in its last step carries out the decision. It may be cancelled at any other step, and started again."""

_Waiting: TypeAlias = "tuple[Callable[[], Decision[Any]], Future[Any]]"


class DecisionQueue:
    """The queues of decisions, by entity. Entities without a queue are absent."""

    def __init__(self, slices: CooperativeScheduler) -> None:
        self._slices = slices
        self._lines: dict[str, deque[_Waiting]] = {}
        """Decisions that are not made yet, each with the future of its reply; the first is running."""

    def is_deciding(self, entity_id: str) -> bool:
        """Return whether a decision about the entity is running, and others are queued."""
        return entity_id in self._lines

    def made(self, entity_id: str, decide: Callable[[], Decision[T]]) -> Reply[T]:
        """Return the reply of a decision about this entity: now, if it needs no pause. Raise its exception likewise.

        `decide` makes the steps, perhaps several times.
        """
        if entity_id in self._lines:
            return self._in_line(entity_id, decide)
        steps = decide()
        try:
            next(steps)
        except StopIteration as over:
            made: CompletedDecision[T] = over.value
            return made.reply
        steps.close()
        self._lines[entity_id] = deque()
        answer = self._in_line(entity_id, decide)
        work = self._slices.in_slices(partial(self._make, entity_id), _DECIDING)
        if answer.done():
            try:
                return answer.result()  # with no turn in between: the first slice was enough
            finally:
                del answer  # otherwise a refusal, its traceback and this frame would be a cycle
        if isinstance(work, Future):
            work.add_done_callback(partial(self._give_up, entity_id))
        return answer

    def made_at_once(self, entity_id: str, make: Callable[[], Reply[T]]) -> Reply[T]:
        """Return the reply of a decision without a pause, which is made after the queued ones."""
        if entity_id not in self._lines:
            return make()
        return self._in_line(entity_id, partial(_at_once, make))

    def _in_line(self, entity_id: str, decide: Callable[[], Decision[T]]) -> Future[T]:
        answer: Future[T] = self._slices.loop.create_future()
        self._lines[entity_id].append((decide, answer))
        return answer

    def _make(self, entity_id: str) -> Steps[None]:
        """Make all queued decisions, also those added in the meantime."""
        line = self._lines[entity_id]
        while line:
            decide, answer = line[0]
            reply = yield from _outcome(decide)
            line.popleft()
            _pass_on(reply, answer)
            del decide, answer, reply  # the traceback of a refusal may refer to this frame: see made()
            yield
        del self._lines[entity_id]

    def _give_up(self, entity_id: str, work: Future[None]) -> None:
        """Refuse all queued decisions, because the broker stops."""
        if not work.cancelled():
            return
        for _decide, answer in self._lines.pop(entity_id, ()):
            _pass_on(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker stops"), answer)


def _at_once(make: Callable[[], Reply[T]]) -> Decision[T]:
    return CompletedDecision(make())
    yield  # makes it a decision in steps, namely one


def _outcome(decide: Callable[[], Decision[Any]]) -> Steps[Any]:
    """Return the reply, or the exception. The future is not known here: so a traceback makes no cycle with it."""
    try:
        made = yield from decide()
    except Exception as error:
        return error
    return made.reply


def _pass_on(reply: Any, answer: Future[Any]) -> None:
    if not isinstance(reply, Exception):
        pass_on(reply, answer)
    elif not answer.done():
        answer.set_exception(reply)
