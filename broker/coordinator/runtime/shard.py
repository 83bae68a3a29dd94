# compiled: mypyc
"""The one place where a coordinator's decisions are carried out: decide, append, replay, act, reply.

A `Shard` owns one partition of a coordinator's topic: the machine that decides about it, its parked requests and its
timers. It knows neither groups nor transactions, neither files nor sockets: the machine knows the first, the journal
the second, and the handlers wait on the futures.

Theory of operation: `execute` carries one outcome through its steps without ever suspending, so between a decision and
its replay nothing else can happen and no lock is needed. If the journal returns that the records are not on disk yet
(flushing is on), all replies wait for it; the state has already changed, so requests in the meantime wait, too, even if
they change nothing. If there is a listener, it is notified of all of it.

Invariants: no reply is sent if its records were refused; a parked request is completed at most once; after `close` no
timer fires and nothing is written: the topic may have been deleted, and another of the same name may exist.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from barnabas.broker.coordinator.runtime.decision_listener import DecisionListener, ListenerFactory
from barnabas.broker.coordinator.runtime.outcome import (
    CancelTimer,
    CancelTimers,
    CompleteRequest,
    Effect,
    Outcome,
    Park,
    PreparedRecords,
    SetTimer,
    TimerKey,
    TransactionProducer,
    Waiter,
    as_coordinator_error,
)
from barnabas.broker.coordinator.runtime.replies_after_sync import WhenSynced, give_up, refuse
from barnabas.broker.runtime.clock import Clock, Timer
from barnabas.broker.runtime.events.cause import TimerCause
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.replies import Reply, ignore_result
from barnabas.protocol.errors import EncodeError, ErrorCode, KafkaError

R = TypeVar("R")
V = TypeVar("V")

_log = logger("coordinator")
_NONE: Final = ErrorCode.NONE  # compiled, the look-up of an enum's member takes as long as a call
TIMER_RETRY_MS = 500
"""The delay before a timer whose decision could not be written fires again, as in Kafka; doubled each time."""
TIMER_RETRY_MAX_MS = 10_000
TIMER_BEHIND_MS = 100
"""The delay before a timer fires again that fired during another decision about its entity."""


class AppendPosition(NamedTuple):
    """The position of a decision's records in the log."""

    base_offset: int
    synced: Future[None] | None
    """Done once they are on disk, if syncs are configured; None if no wait is needed."""


class CoordinatorLog(Protocol):
    """One coordinator topic as the runtime uses it."""

    def append(
        self,
        partition: int,
        records: Sequence[tuple[bytes, bytes | None]],
        now_ms: int,
        producer: TransactionProducer | None = None,
    ) -> AppendPosition:
        """Write (key, value) pairs as one batch, in a producer's transaction if given. KafkaError: none is written."""

    def unsynced(self, partition: int) -> Future[None] | None:
        """Return a future that is done once all appended records are on disk; None if no wait is needed."""


class Machine(Protocol[R, V]):
    """The component that decides about the entities of one partition."""

    def encode(self, record: R) -> tuple[bytes, bytes | None]:
        """Return key and value of a record in the log's format; raises EncodeError if it does not fit."""

    def replay(self, record: R, record_offset: int, producer_id: int = -1) -> None:
        """Change the durable state; with a producer id, from the commit of its transaction on."""

    def install(self, entity_id: str, volatile: V) -> None:
        """Install the successor of the volatile state."""

    def timer_fired(self, entity_id: str, timer: TimerKey, now_ms: int) -> Outcome[R, V]:
        """Decide what a timer does."""


class Shard(Generic[R, V]):
    """One partition of a coordinator's topic."""

    def __init__(
        self,
        partition: int,
        machine: Machine[R, V],
        journal: CoordinatorLog,
        clock: Clock,
        create_future: Callable[[], Future[Any]],
        write_timeout_ms: int | None = None,
        perform: Callable[[str, Effect], None] | None = None,
        is_deciding: Callable[[str], bool] | None = None,
        fire: Callable[[str, TimerKey], Reply[None]] | None = None,
        listener_factory: ListenerFactory | None = None,
    ) -> None:
        """Create the shard. `write_timeout_ms` limits how long a reply waits for the disk; None: no limit.

        `is_deciding` returns whether a decision about an entity takes several turns of the event loop, and is not made
        yet: its timers wait, since a request that came in time may be queued after it.

        `fire` decides what a timer does and carries it out, perhaps in several turns; the timer fires again if that
        fails. By default the machine decides, at once.

        `perform` is called with the entity and every effect that the runtime does not perform, as soon as the records
        are durable: inside `execute` if there is no wait for the disk. It must not raise.
        """
        self.partition = partition
        self._machine = machine
        self._journal = journal
        self._clock = clock
        self._create_future = create_future
        self._write_timeout_ms = write_timeout_ms
        self._perform = perform
        self._is_deciding = is_deciding
        self._fire = fire
        self._listener_factory = listener_factory
        self._listener: DecisionListener | None = None
        self._parked: dict[tuple[str, Waiter], Future[Any]] = {}
        self._timers: dict[tuple[str, str], dict[str, Timer]] = {}  # (entity, kind) -> member -> timer
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether this partition was closed."""
        return self._is_closed

    def parked(self) -> int:
        """Return how many requests wait."""
        return len(self._parked)

    def time_left_ms(self, entity_id: str, timer: TimerKey) -> int | None:
        """Return how long until a timer fires; None if it does not run."""
        running = self._timers.get((entity_id, timer.kind), {}).get(timer.member_id)
        return None if running is None else max(0, round((running.due - self._clock.monotonic()) * 1000))

    def execute(self, entity_id: str, outcome: Outcome[R, V]) -> Any:
        """Carry out a decision; return its reply, or a future of it. Raises KafkaError if it cannot be written."""
        synced: Future[None] | None = None
        records, producer, volatile, reply, effects, _, prepared = outcome
        listener = self._listened_to()
        seen = None if listener is None else listener.seen(entity_id, outcome)
        if records:
            try:
                synced = self._append(entity_id, records, producer, listener, prepared)
            except KafkaError as refusal:
                code = as_coordinator_error(refusal.code)
                if outcome.or_else is None:
                    raise KafkaError(code, refusal.message) from refusal
                _log.warning(line("append refused", partition=self.partition, entity=entity_id, error=refusal))
                outcome = outcome.or_else(code)
                _, _, volatile, reply, effects, _, _ = outcome
        elif not isinstance(reply, ErrorCode) or reply is _NONE:  # an error does not depend on written records
            synced = self._journal.unsynced(self.partition)
        if volatile is not None:
            self._machine.install(entity_id, volatile)
        if listener is not None:
            listener.happened(entity_id, seen, outcome)
        if isinstance(reply, Park):
            reply = self._park(entity_id, reply.waiter)
        if not effects and synced is None:
            return reply
        answers: list[CompleteRequest] = []
        others: list[Effect] = []
        for effect in effects:
            if isinstance(effect, CompleteRequest):
                answers.append(effect)
            elif isinstance(effect, SetTimer):
                if not (effect.unless_it_runs and self._runs(entity_id, effect.timer)):
                    self._set_timer(entity_id, effect.timer, effect.delay_ms)
            elif isinstance(effect, CancelTimer):
                self._cancel_timer(entity_id, effect.timer)
            elif isinstance(effect, CancelTimers):
                _cancel(self._timers.pop((entity_id, effect.kind), {}))
            else:
                others.append(effect)
        if synced is not None:
            return self._answer_when_synced(synced, entity_id, answers, others, reply)
        self._answer(entity_id, answers)
        if others:
            self._do(entity_id, others)
        return reply

    def _do(self, entity_id: str, effects: Iterable[Effect]) -> None:
        """Perform the effects that the runtime does not; after `close` nothing is begun any more."""
        if self._perform is not None and not self._is_closed:
            for effect in effects:
                self._perform(entity_id, effect)

    def _listened_to(self) -> DecisionListener | None:
        """Return the listener of the decisions; None if no client listens to events."""
        listener_factory = self._listener_factory
        if listener_factory is None or not listener_factory.events.is_on:
            return None
        if self._listener is None:
            self._listener = listener_factory.create(self._machine, listener_factory.events)
        return self._listener

    def _append(
        self,
        entity_id: str,
        records: Sequence[R],
        producer: TransactionProducer | None,
        listener: DecisionListener | None,
        prepared: PreparedRecords | None,
    ) -> Future[None] | None:
        if self._is_closed:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the coordinator is shutting down")
        try:
            encoded = [self._machine.encode(each) for each in records] if prepared is None else prepared.encoded
        except EncodeError as unfit:  # a client's name is longer than a record can carry
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(unfit)) from unfit
        if listener is not None:
            listener.writing(entity_id, records)
        if prepared is not None and prepared.put_in_place is not None:
            appended = self._journal.append(self.partition, encoded, self._clock.now_ms())
            prepared.put_in_place()
        elif producer is None:
            appended = self._journal.append(self.partition, encoded, self._clock.now_ms())
            for position, record in enumerate(records):
                self._machine.replay(record, appended.base_offset + position)
        else:
            appended = self._journal.append(self.partition, encoded, self._clock.now_ms(), producer)
            for position, record in enumerate(records):
                self._machine.replay(record, appended.base_offset + position, producer.producer_id)
        if listener is not None:
            listener.written(entity_id, records, self.partition, appended.base_offset)
        return appended.synced

    # Parked requests

    def _park(self, entity_id: str, waiter: Waiter) -> Future[Any]:
        """Return a future that an `CompleteRequest` to this waiter completes.

        A repeated request replaces the first one.
        """
        key = (entity_id, waiter)
        earlier = self._parked.pop(key, None)
        if earlier is not None:
            refuse(earlier, ErrorCode.REBALANCE_IN_PROGRESS, "the same member sent a newer request")
        future = self._parked[key] = self._create_future()
        future.add_done_callback(partial(self._unpark, key))
        return future

    def _unpark(self, key: tuple[str, Waiter], future: Future[Any]) -> None:
        if self._parked.get(key) is future:
            del self._parked[key]

    def _answer(self, entity_id: str, answers: Iterable[CompleteRequest]) -> None:
        for answer in answers:
            future = self._parked.pop((entity_id, answer.waiter), None)
            if future is not None and not future.done():
                future.set_result(answer.reply)

    def _answer_when_synced(
        self, synced: Future[None], entity_id: str, answers: list[CompleteRequest], others: list[Effect], reply: Any
    ) -> Future[Any]:
        """Delay everything until the records are on disk; reply with an error if they never will be, or not in time.

        Records that are too late for the reply are in the log all the same, so `others` are performed however late.
        """
        parked = [(self._parked.pop((entity_id, answer.waiter), None), answer.reply) for answer in answers]
        waiting = [(future, result) for future, result in parked if future is not None]
        if isinstance(reply, Future):
            answered = reply
        else:
            answered = self._create_future()
            waiting.append((answered, reply))
        overdue: Timer | None = None
        if self._write_timeout_ms is not None:
            late = partial(
                give_up, waiting, ErrorCode.REQUEST_TIMED_OUT, "the coordinator's log was not synced in time"
            )
            overdue = self._clock.call_later(self._write_timeout_ms, late)
        synced.add_done_callback(WhenSynced(partial(self._do, entity_id, others), waiting, overdue))
        return answered

    # Timers

    def _set_timer(self, entity_id: str, timer: TimerKey, delay_ms: int, refusals: int = 0) -> None:
        self._cancel_timer(entity_id, timer)
        if not self._is_closed:
            kind, member_id = timer
            running = self._timers.get((entity_id, kind))
            if running is None:
                running = self._timers[entity_id, kind] = {}
            running[member_id] = self._clock.call_later(delay_ms, _Alarm(self, entity_id, kind, member_id, refusals))

    def _runs(self, entity_id: str, timer: TimerKey) -> bool:
        return timer.member_id in self._timers.get((entity_id, timer.kind), ())

    def _cancel_timer(self, entity_id: str, timer: TimerKey) -> None:
        cancelled = self._forget_timer(entity_id, timer)
        if cancelled is not None:
            cancelled.cancel()

    def _forget_timer(self, entity_id: str, timer: TimerKey) -> Timer | None:
        kind, member_id = timer
        running = self._timers.get((entity_id, kind))
        if running is None:
            return None
        forgotten = running.pop(member_id, None)
        if not running:
            del self._timers[entity_id, kind]
        return forgotten

    def timer_fired(self, entity_id: str, timer: TimerKey, refusals: int = 0) -> None:
        """Decide about one of the timers, whose time has come. It fires again while the decision cannot be written.

        `refusals` counts how often that happened.
        """
        self._forget_timer(entity_id, timer)
        if self._is_deciding is not None and self._is_deciding(entity_id):
            self._set_timer(entity_id, timer, TIMER_BEHIND_MS, refusals)
            return
        events = None if self._listener_factory is None else self._listener_factory.events
        if events is not None and events.is_on:
            events.cause = TimerCause(timer.kind, entity_id, timer.member_id)
        try:
            reply = (self._fire or self.fire_at_once)(entity_id, timer)
        except KafkaError as refusal:
            self._fire_again(entity_id, timer, refusals, refusal)
            return
        finally:
            if events is not None:
                events.cause = None
        if isinstance(reply, Future):
            reply.add_done_callback(partial(self._fired, entity_id, timer, refusals))

    def fire_at_once(self, entity_id: str, timer: TimerKey) -> None:
        """Carry out the machine's decision. KafkaError if it cannot be written."""
        reply = self.execute(entity_id, self._machine.timer_fired(entity_id, timer, self._clock.now_ms()))
        if isinstance(reply, Future):
            ignore_result(reply)  # a failed sync is logged by the code that syncs

    def _fired(self, entity_id: str, timer: TimerKey, refusals: int, done: Future[None]) -> None:
        refusal = None if done.cancelled() else done.exception()
        if isinstance(refusal, KafkaError) and not self._runs(entity_id, timer):
            self._fire_again(entity_id, timer, refusals, refusal)

    def _fire_again(self, entity_id: str, timer: TimerKey, refusals: int, refusal: KafkaError) -> None:
        _log.warning(line("timer refused", entity=entity_id, timer=timer.kind, error=refusal))
        delay_ms = min(TIMER_RETRY_MS << min(refusals, 16), TIMER_RETRY_MAX_MS)
        self._set_timer(entity_id, timer, delay_ms, refusals + 1)  # unless it is closed

    def close(self, code: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE) -> None:
        """Stop the timers and refuse all waiting requests: the broker stops, or no longer owns this partition."""
        self._is_closed = True
        timers, self._timers = self._timers, {}
        for running in timers.values():
            _cancel(running)
        parked, self._parked = self._parked, {}
        for future in parked.values():
            refuse(future, code, "this is no longer the coordinator")


def _cancel(running: Mapping[str, Timer]) -> None:
    for timer in running.values():
        timer.cancel()


class _Alarm:
    """The callback of a timer. There is one for each member of each group, so it is small."""

    __slots__ = ("_entity_id", "_kind", "_member_id", "_refusals", "_shard")

    def __init__(self, shard: Shard[Any, Any], entity_id: str, kind: str, member_id: str, refusals: int) -> None:
        self._shard = shard
        self._entity_id = entity_id
        self._kind = kind
        self._member_id = member_id
        self._refusals = refusals

    def __call__(self) -> None:
        self._shard.timer_fired(self._entity_id, TimerKey(self._kind, self._member_id), self._refusals)
