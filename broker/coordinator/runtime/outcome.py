"""The result of a coordinator's decision: records to write, the reply, and effects to perform afterwards.

A decision is a function of state, request, time and fresh ids; it changes nothing and returns an `Outcome`. The runtime
then works through it in this order, and in no other:

    decide -> append(records) -> replay(records) -> install(volatile) -> effects -> reply

(many records are replayed on a copy before, and the copy replaces the entity at the time of their replay), so no reply
is sent, and no request is woken, for a change that is not in the log.

Durable state is what `replay` builds from records. Volatile state (joined members, running sessions) is lost with the
process by design, as in Kafka; a decision returns its successor beside the records, and it is installed only after they
were appended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from barnabas.protocol.errors import ErrorCode

R = TypeVar("R", covariant=True)
"""The coordinator's records, as values: past participles such as `OffsetCommitted`."""
V = TypeVar("V", covariant=True)
"""The volatile state of one entity (a group)."""


class Waiter(NamedTuple):
    """The name of one parked request of its entity."""

    kind: str
    member_id: str


class TimerKey(NamedTuple):
    """The name of one timer of its entity; setting a timer replaces the one of the same name."""

    kind: str
    member_id: str = ""


class Park(NamedTuple):
    """Instead of a reply: the request waits until some decision completes this waiter."""

    waiter: Waiter


class CompleteRequest(NamedTuple):
    """Effect: complete a parked request, if it still waits (its connection may be closed)."""

    waiter: Waiter
    reply: Any


class SetTimer(NamedTuple):
    """Effect: request a decision about `timer` after `delay_ms`."""

    timer: TimerKey
    delay_ms: int
    unless_it_runs: bool = False
    """A timer that runs is left unchanged, instead of being replaced."""


class CancelTimer(NamedTuple):
    """Effect: cancel this timer, if it runs."""

    timer: TimerKey


class CancelTimers(NamedTuple):
    """Effect: cancel every timer of this kind."""

    kind: str


class FinishTransaction(NamedTuple):
    """Effect: write the markers of the entity, a prepared transaction, and complete it.

    Not performed by the runtime: the shard's owner performs it, once the records beside it are durable.
    """


MayDescribe: TypeAlias = Callable[[str], bool]
"""Returns whether the client may describe the topic of this name."""


def no_topic(name: str) -> bool:
    """Return False, as a `MayDescribe` that permits no topic, for requests without a known client."""
    return False


class ResolveTopics(NamedTuple):
    """Effect: find the topics that match each regular expression of the entity, a consumer group.

    Not performed by the runtime, like `FinishTransaction`: it reads all topics.
    """

    regexes: tuple[str, ...]
    may_describe: MayDescribe
    """Which of the matching topics count."""


class InitializeShareStates(NamedTuple):
    """Effect: store the first states of share partitions of the entity, a share group.

    Not performed by the runtime, like `FinishTransaction`.
    """

    state_epoch: int
    partitions: Mapping[bytes, frozenset[int]]
    """By topic id."""
    start_offset: int = -1


Effect = (
    CompleteRequest | SetTimer | CancelTimer | CancelTimers | FinishTransaction | ResolveTopics | InitializeShareStates
)


class TransactionProducer(NamedTuple):
    """The producer whose open transaction a decision's records belong to: they count once its marker commits them."""

    producer_id: int
    producer_epoch: int


class PreparedRecords(NamedTuple):
    """Many records, encoded and replayed in steps before they are written: the rest of the work is short.

    They are replayed on a copy, which is not visible before they are in the log.
    """

    encoded: Sequence[tuple[bytes, bytes | None]]
    """Key and value of each."""
    put_in_place: Callable[[], None] | None
    """Makes the copy the durable state of the entity, which must not have changed since; None for records that are
    replayed once they are written."""


class Outcome(NamedTuple, Generic[R, V]):
    """One complete decision: either all of it happens or, if the records cannot be written, only `or_else`."""

    records: tuple[R, ...] = ()
    producer: TransactionProducer | None = None
    """Set if the records are part of a transaction."""
    volatile: V | None = None
    """The successor of the entity's volatile state; None if the decision does not change it."""
    reply: Any = None
    """The reply, or `Park`."""
    effects: tuple[Effect, ...] = ()
    or_else: Callable[[ErrorCode], Outcome[R, V]] | None = None
    """The replacement if the append fails; None: only an error reply.

    Its own records are not written.
    """
    prepared: PreparedRecords | None = None
    """Prepared records, if they are many and in no transaction."""


_NOT_AVAILABLE = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
}
_NOT_COORDINATOR = {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR}
_TOO_LARGE = {ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE}


def as_coordinator_error(code: ErrorCode) -> ErrorCode:
    """Return the error code for a client of a coordinator whose own append failed with `code`."""
    if code in _NOT_AVAILABLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in _NOT_COORDINATOR:
        return ErrorCode.NOT_COORDINATOR
    if code in _TOO_LARGE:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    if code is ErrorCode.NETWORK_EXCEPTION:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return code
