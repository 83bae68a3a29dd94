"""Where the parts of a broker tell what happens, and whoever listens hears of it.

Knows no part and no listener. A part asks `is_on` first, so that an event that nobody listens to costs a look at an
attribute, and its facts are not even put together:

    if events.is_on:
        events.tell(TRANSACTION_PREPARED, {"transactional_id": name, ...})

What clients cause by asking again and again is told by `tell_repeated`: seldom, with how often it was. It is kept for a
while whether or not somebody listens, and those who explain ask for it (`lately`).

A listener is called at once, in the call in which the event happens: it must neither raise nor do much. At a kind that
may be paused it may give a future, and the part goes on when that is done.

What leads to events (`cause`) is set while it does by whoever knows it: the entries of requests, where they were made
while somebody listens, and timers of coordinators.

Invariant: listeners are called in the order in which they came.
"""

from __future__ import annotations

from asyncio import Future, gather
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from barnabas.broker.runtime.events.cause import Cause, RequestCause
from barnabas.broker.runtime.events.kind import Kind

if TYPE_CHECKING:
    from barnabas.broker.runtime.events.repeated import Case, Repeated

Facts: TypeAlias = dict[str, Any]
"""By name. Whoever is told them may keep them: nobody changes them afterwards."""
Listener: TypeAlias = "Callable[[Kind, Facts], Future[None] | None]"


class Events:
    """Those of one broker, however many nodes it has."""

    __slots__ = (
        "_listeners",
        "_repeated",
        "_told",
        "all_requests",
        "cause",
        "is_on",
        "requests_count",
        "stopwatch",
        "when_switched",
    )

    def __init__(self, stopwatch: Callable[[], float] = monotonic) -> None:
        """stopwatch: seconds that never go back, for how long something took."""
        self.stopwatch = stopwatch
        self.is_on = False
        """Whether anybody listens."""
        self.all_requests = False
        """Whether somebody wants to hear of every request, also of those that carry data."""
        self.cause: Cause | None = None
        """What leads to what happens now, where that is known."""
        self.requests_count = 0
        self.when_switched: list[Callable[[], None]] = []
        """What is called when `is_on` or `all_requests` has changed."""
        self._listeners: tuple[tuple[Listener, bool], ...] = ()
        self._told: tuple[Listener, ...] = ()
        self._repeated: dict[str, Repeated] = {}

    def listen(self, listener: Listener, *, all_requests: bool = False) -> None:
        """Call it at each event from now on. all_requests: events of every request are wanted. May be said anew."""
        others = (each for each in self._listeners if each[0] != listener)
        self._set((*others, (listener, all_requests)))

    def stop_listening(self, listener: Listener) -> None:
        """Call it no more."""
        self._set(tuple(each for each in self._listeners if each[0] != listener))

    def request_cause(
        self,
        api: str,
        version: int,
        client_id: str | None,
        peer: str,
        correlation_id: int,
        node: int,
        asked: dict[str, Any],
        principal: str | None = None,
    ) -> RequestCause:
        """A request that is about to be served, as what may lead to events."""
        self.requests_count += 1
        number = self.requests_count
        return RequestCause(number, api, version, client_id, peer, correlation_id, node, asked, principal)

    def tell(self, kind: Kind, facts: Facts) -> Future[Any] | None:
        """It happened. What to wait for before going on, where somebody holds it up; None otherwise."""
        held: list[Future[None]] | None = None
        for listener in self._told:
            future = listener(kind, facts)
            if future is not None:
                held = [future] if held is None else [*held, future]
        if held is None:
            return None
        assert kind.may_pause, f"{kind.name} cannot be held up"
        return held[0] if len(held) == 1 else gather(*held)

    def tell_repeated(self, kind: Kind, which: Mapping[str, Any], **latest: Any) -> None:
        """It happened, as it may many times a second: told now and then, with its `count` since it was told last.

        which: the facts that make it the same case as before; latest: those that differ from time to time.
        """
        repeated = self._repeated.get(kind.name)
        if repeated is None:
            from barnabas.broker.runtime.events.repeated import Repeated  # most brokers refuse nobody

            repeated = self._repeated[kind.name] = Repeated()
        now_s = self.stopwatch()
        case = repeated.happened(which, latest, now_s)
        if self.is_on:
            count = repeated.count_to_tell(case, now_s)
            if count:
                self.tell(kind, {**case.facts, "count": count})

    def lately(self, kind: Kind) -> list[Case]:
        """What was told by `tell_repeated`, or would have been: the last cases there were, the last first."""
        repeated = self._repeated.get(kind.name)
        return [] if repeated is None else repeated.cases()

    def _set(self, listeners: tuple[tuple[Listener, bool], ...]) -> None:
        before = self.is_on, self.all_requests
        self._listeners = listeners
        self._told = tuple([each for each, _ in listeners])
        self.is_on = bool(listeners)
        self.all_requests = any(all_requests for _, all_requests in listeners)
        if not self.is_on:
            self.cause = None
        if before != (self.is_on, self.all_requests):
            for switched in self.when_switched:
                switched()
