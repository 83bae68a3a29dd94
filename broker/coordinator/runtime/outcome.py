"""What a coordinator's decision returns: what to write, what to answer, what to do afterwards.

A decision is a function of state, request, time and fresh ids; it changes nothing and returns an `Outcome`. The runtime
then works through it in this order, and in no other:

    decide -> append(records) -> replay(records) -> install(volatile) -> effects -> reply

(many records are replayed on a copy before, and the copy takes the place of the entity where they would be replayed),
so nothing is answered, and nobody is woken, for a change that is not in the log.

Durable state is what `replay` builds from records. Volatile state (who has joined, whose session runs) is lost with the
process by design, as in Kafka; a decision returns its successor beside the records, and it is installed only after they
were appended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from barnabas.protocol.errors import ErrorCode

R = TypeVar("R", covariant=True)
"""The coordinator's records, as values: past participles such as `OffsetCommitted`."""
V = TypeVar("V", covariant=True)
"""The volatile state of one entity (a group)."""


class Waiter(NamedTuple):
    """The name of one parked request within its entity."""

    kind: str
    member_id: str


class TimerKey(NamedTuple):
    """The name of one timer within its entity; setting a timer replaces the one of the same name."""

    kind: str
    member_id: str = ""


class Park(NamedTuple):
    """Instead of a reply: the request waits until some decision answers this waiter."""

    waiter: Waiter


class Answer(NamedTuple):
    """Effect: complete a parked request, if it is still there (its connection may have gone)."""

    waiter: Waiter
    reply: Any


class SetTimer(NamedTuple):
    """Effect: ask the coordinator to decide about `timer` after `delay_ms`."""

    timer: TimerKey
    delay_ms: int
    unless_it_runs: bool = False
    """A timer that runs is left alone, instead of being replaced."""


class CancelTimer(NamedTuple):
    """Effect: forget this timer, if it runs."""

    timer: TimerKey


class CancelTimers(NamedTuple):
    """Effect: forget every timer of this kind."""

    kind: str


class FinishTransaction(NamedTuple):
    """Effect: the entity, a prepared transaction, gets its markers written and is completed.

    Not the runtime's own: whoever owns the shard performs it, once the records beside it are durable.
    """


MayDescribe: TypeAlias = Callable[[str], bool]
"""Whether who asks may be told of the topic of this name."""


def no_topic(name: str) -> bool:
    """As `MayDescribe`, of nobody known: who does not say what may be described is told of nothing."""
    return False


class ResolveTopics(NamedTuple):
    """Effect: find the topics that match each of the entity's, a consumer group's, regular expressions.

    Not the runtime's own, like `FinishTransaction`: it looks at every topic there is.
    """

    regexes: tuple[str, ...]
    may_describe: MayDescribe
    """Which of them count."""


Effect = Answer | SetTimer | CancelTimer | CancelTimers | FinishTransaction | ResolveTopics


class Producer(NamedTuple):
    """Whose open transaction a decision's records belong to: they count once its marker says so."""

    producer_id: int
    producer_epoch: int


class Prepared(NamedTuple):
    """Many records, encoded and replayed in steps before they are written: what is left to do is short.

    They are replayed on a copy, which nobody sees before they are in the log.
    """

    encoded: Sequence[tuple[bytes, bytes | None]]
    """Key and value of each."""
    put_in_place: Callable[[], None] | None
    """What makes of the copy the durable state of the entity, which must not have changed since; None for records that
    are replayed once they are written."""


class Outcome(NamedTuple, Generic[R, V]):
    """One decision, whole: either all of it happens or, when the records cannot be written, only `or_else`."""

    records: tuple[R, ...] = ()
    producer: Producer | None = None
    """Set where the records are part of a transaction."""
    volatile: V | None = None
    """The successor of the entity's volatile state; None when the decision leaves it alone."""
    reply: Any = None
    """The answer, or `Park`."""
    effects: tuple[Effect, ...] = ()
    or_else: Callable[[ErrorCode], Outcome[R, V]] | None = None
    """What happens instead when the append fails; None: nothing but an error answer.

    Its own records are not written.
    """
    prepared: Prepared | None = None
    """Of the records, where they are many and of no transaction."""


_NOT_AVAILABLE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
}
_NOT_COORDINATOR = {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR}
_TOO_LARGE = {ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE}


def as_coordinator_error(code: ErrorCode) -> ErrorCode:
    """The answer to a client of a coordinator when the coordinator's own append failed with `code`."""
    if code in _NOT_AVAILABLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in _NOT_COORDINATOR:
        return ErrorCode.NOT_COORDINATOR
    if code in _TOO_LARGE:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    if code is ErrorCode.NETWORK_EXCEPTION:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return code
