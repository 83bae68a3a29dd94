# compiled: mypyc, as a traced broker runs it for each event
"""The place where the parts of a broker report events, and from where listeners receive them.

Knows no part and no listener. A part checks `is_on` first, so that an event without a listener costs one attribute
access, and its facts are not even put together:

    if events.is_on:
        events.emit(TRANSACTION_PREPARED, {"transactional_id": name, ...})

Events that clients cause by repeating a request are reported by `emit_repeated`: seldom, with a count. They are stored
for a while with or without a listener, and explanations read them (`lately`).

A listener is called at once, in the call in which the event happens: it must neither raise nor do much. At a kind that
may be paused it may return a future, and the part continues when that is done. At a kind that may fail it may return a
future that has failed with a KafkaError, which the part raises in place of its write.

The cause of events (`cause`) is set, for the time in which it applies, by the code that knows it: the entries of
requests, where they were made while there is a listener, and timers of coordinators.

Invariant: listeners are called in the order in which they were added.
"""

from __future__ import annotations

from asyncio import Future, gather
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from barnabas.broker.runtime.events.cause import Cause, RequestCause
from barnabas.broker.runtime.events.kind import EventKind

if TYPE_CHECKING:
    from barnabas.broker.runtime.events.repeated import Case, Repeated

Facts: TypeAlias = dict[str, Any]
"""Facts by name. A listener may store them: they are not changed afterwards."""
Listener: TypeAlias = "Callable[[EventKind, Facts], Future[None] | None]"


class Events:
    """The events of one broker, with one or several nodes."""

    __slots__ = (
        "_listeners",
        "_notified",
        "_repeated",
        "all_requests",
        "cause",
        "is_on",
        "requests_count",
        "stopwatch",
        "when_switched",
    )

    def __init__(self, stopwatch: Callable[[], float] = monotonic) -> None:
        """Use `stopwatch`, seconds that never go back, to measure how long something took."""
        self.stopwatch = stopwatch
        self.is_on = False
        """Whether there is a listener."""
        self.all_requests = False
        """Whether a listener wants events of every request, also of those that carry data."""
        self.cause: Cause | None = None
        """The cause of what happens now, where it is known."""
        self.requests_count = 0
        self.when_switched: list[Callable[[], None]] = []
        """Callbacks for a change of `is_on` or `all_requests`."""
        self._listeners: tuple[tuple[Listener, bool], ...] = ()
        self._notified: tuple[Listener, ...] = ()
        self._repeated: dict[str, Repeated] = {}

    def listen(self, listener: Listener, *, all_requests: bool = False) -> None:
        """Call the listener at each event from now on. all_requests: of every request. Replaces an earlier call."""
        others = (each for each in self._listeners if each[0] != listener)
        self._set((*others, (listener, all_requests)))

    def stop_listening(self, listener: Listener) -> None:
        """Remove the listener."""
        self._set(tuple(each for each in self._listeners if each[0] != listener))

    def request_cause(
        self,
        api: str,
        version: int,
        client_id: str | None,
        peer: str,
        correlation_id: int,
        node: int,
        requested: dict[str, Any],
        principal: str | None = None,
    ) -> RequestCause:
        """Return a cause of events for a request that is about to be served."""
        self.requests_count += 1
        number = self.requests_count
        return RequestCause(number, api, version, client_id, peer, correlation_id, node, requested, principal)

    def emit(self, kind: EventKind, facts: Facts) -> Future[Any] | None:
        """Report an event. Return a future to wait for before continuing if a listener pauses the step, else None.

        The future of a step that may fail has the result None, or the error.
        """
        held: list[Future[None]] | None = None
        for listener in self._notified:
            future = listener(kind, facts)
            if future is not None:
                held = [future] if held is None else [*held, future]
        if held is None:
            return None
        assert kind.may_pause or kind.may_fail, f"{kind.name} cannot be held up"
        return held[0] if len(held) == 1 else gather(*held)

    def emit_repeated(self, kind: EventKind, which: Mapping[str, Any], **latest: Any) -> None:
        """Report an event that may happen many times a second: seldom, with its `count` since it was last reported.

        which: the facts that identify the case; latest: the facts that differ from time to time.
        """
        repeated = self._repeated.get(kind.name)
        if repeated is None:
            from barnabas.broker.runtime.events.repeated import Repeated  # most brokers refuse no client

            repeated = self._repeated[kind.name] = Repeated()
        now_s = self.stopwatch()
        case = repeated.happened(which, latest, now_s)
        if self.is_on:
            count = repeated.count_to_report(case, now_s)
            if count:
                self.emit(kind, {**case.facts, "count": count})

    def lately(self, kind: EventKind) -> list[Case]:
        """Return the latest cases of `emit_repeated`, also those that were not reported, the most recent first."""
        repeated = self._repeated.get(kind.name)
        return [] if repeated is None else repeated.cases()

    def _set(self, listeners: tuple[tuple[Listener, bool], ...]) -> None:
        before = self.is_on, self.all_requests
        self._listeners = listeners
        self._notified = tuple([each for each, _ in listeners])
        self.is_on = bool(listeners)
        self.all_requests = any(all_requests for _, all_requests in listeners)
        if not self.is_on:
            self.cause = None
        if before != (self.is_on, self.all_requests):
            for switched in self.when_switched:
                switched()
