# compiled: mypyc, as a traced broker runs it for each event
"""The ring: the last events of a broker, numbered, bounded by their number and by their size in memory.

Listens to events, and reads clocks; knows nothing of HTTP. It is active from its creation until it is closed. Quiet
requests are received only while a follower asks for all requests, and are not stored: they would displace the others.

Invariants: numbers rise by one and are never used twice; the stored events are the latest ones, without a gap; a
follower holds no more than FOLLOWED_MAX events, and counts the events that it missed.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final, NamedTuple

from barnabas.broker.insight.history.trace_event import TraceEvent, bounded, bounded_event
from barnabas.broker.insight.history.trace_filter import TraceFilter
from barnabas.broker.runtime.events.cause import Cause
from barnabas.broker.runtime.events.events import Events, Facts
from barnabas.broker.runtime.events.kind import EventKind
from barnabas.broker.runtime.events.kinds import REQUEST_ANSWERED
from barnabas.broker.runtime.events.quiet_requests import is_quiet

BYTES_MAX: Final = 32 << 20
FOLLOWED_MAX: Final = 2_000
FOLLOWERS_MAX: Final = 16
LOOKED_AT_MAX: Final = 20_000
"""How many events one query examines, which takes some 20 ms."""


class TooManyFollowers(Exception):
    """The limit of followers is reached."""


class HistoryPage(NamedTuple):
    """A page of stored events. next: the number to continue from. lost: how many from there on are no longer stored."""

    events: list[TraceEvent]
    next: int
    lost: int


class History:
    """The recent events of one broker."""

    def __init__(
        self,
        events: Events,
        *,
        now_ms: Callable[[], int],
        machine_now_ms: Callable[[], int],
        events_max: int,
        bytes_max: int = BYTES_MAX,
    ) -> None:
        self._events = events
        self._now_ms = now_ms
        self._machine_now_ms = machine_now_ms
        self._events_max = events_max
        self._bytes_max = bytes_max
        self._ring: deque[TraceEvent] = deque()
        self._bytes = 0
        self._next = 1
        self._followers: list[Follower] = []
        self._cause: Cause | None = None
        self._cause_facts: Facts = {}
        self._cause_bytes = 0
        events.listen(self._hear)

    @property
    def next_number(self) -> int:
        """The number of the next event."""
        return self._next

    def close(self) -> None:
        """Stop listening, and drop all stored events."""
        self._events.stop_listening(self._hear)
        for follower in list(self._followers):
            follower.close()
        self._ring.clear()

    def past(
        self, wanted: TraceFilter, start: int = 1, limit: int = 1_000, *, looks_at: int = LOOKED_AT_MAX
    ) -> HistoryPage:
        """Return the matching events from a number on: at most `limit`, found among the next `looks_at` events."""
        first = self._next - len(self._ring)
        begin = min(max(start, first), self._next)
        found: list[TraceEvent] = []
        end = begin
        for event in islice(self._ring, begin - first, begin - first + looks_at):
            if len(found) == limit:
                break
            end += 1
            if wanted.has(event):
                found.append(event)
        return HistoryPage(found, end, max(0, first - start))

    def last(self, wanted: TraceFilter, limit: int) -> list[TraceEvent]:
        """Return the last `limit` matching events, in order."""
        found: list[TraceEvent] = []
        for event in islice(reversed(self._ring), LOOKED_AT_MAX):
            if len(found) == limit:
                break
            if wanted.has(event):
                found.append(event)
        found.reverse()
        return found

    def follow(self, wanted: TraceFilter, *, all_requests: bool = False) -> Follower:
        """Return a follower that receives matching events from now on. Raise TooManyFollowers at the limit."""
        if len(self._followers) == FOLLOWERS_MAX:
            raise TooManyFollowers(f"{FOLLOWERS_MAX} clients follow the trace already")
        follower = Follower(wanted, all_requests, self._stop_following)
        self._followers.append(follower)
        self._listen()
        return follower

    def _stop_following(self, follower: Follower) -> None:
        self._followers.remove(follower)
        self._listen()

    def _listen(self) -> None:
        wants_all = any(each.all_requests for each in self._followers)
        if wants_all != self._events.all_requests:
            self._events.listen(self._hear, all_requests=wants_all)

    def _hear(self, kind: EventKind, facts: Facts) -> None:
        cause = self._events.cause
        if cause is not self._cause:
            self._cause = cause
            self._cause_facts, self._cause_bytes = ({}, 0) if cause is None else bounded(cause.facts())
        own, size = bounded_event(kind, facts)
        is_kept = kind is not REQUEST_ANSWERED or not is_quiet(facts["api"], facts["error"])
        number, size = self._next if is_kept else 0, size + self._cause_bytes
        event = TraceEvent(number, self._now_ms(), self._machine_now_ms(), kind.name, own, self._cause_facts, size)
        if is_kept:
            self._keep(event)
        for follower in self._followers:
            follower.offer(event)

    def _keep(self, event: TraceEvent) -> None:
        ring = self._ring
        ring.append(event)
        self._next += 1
        self._bytes += event.size_bytes
        while len(ring) > self._events_max or self._bytes > self._bytes_max:
            self._bytes -= ring.popleft().size_bytes


class Follower:
    """A follower of events, possibly slow: when its queue is full, the oldest events are dropped and counted."""

    def __init__(self, wanted: TraceFilter, all_requests: bool, stop: Callable[[Follower], None]) -> None:
        self.all_requests = all_requests
        self.missed = 0
        """How many events were missed since `take` was called last."""
        self._wanted = wanted
        self._stop = stop
        self._waiting: deque[TraceEvent] = deque()
        self._woken: Future[None] | None = None
        self._loop: AbstractEventLoop = get_running_loop()
        self._is_closed = False

    def offer(self, event: TraceEvent) -> None:
        """Queue an event, if it matches."""
        if not self._wanted.has(event) or (event.kind == REQUEST_ANSWERED.name and self._is_unasked(event)):
            return
        if len(self._waiting) == FOLLOWED_MAX:
            self._waiting.popleft()
            self.missed += 1
        self._waiting.append(event)
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def _is_unasked(self, event: TraceEvent) -> bool:
        return event.number is None and not self.all_requests

    def take(self) -> tuple[list[TraceEvent], int]:
        """Return the events queued since the last call, and how many were missed before them."""
        missed, self.missed = self.missed, 0
        taken = list(self._waiting)
        self._waiting.clear()
        return taken, missed

    def more(self) -> Future[None]:
        """Return a future that is done when there are events to take. Supports one waiter at a time."""
        self._woken = self._loop.create_future()
        if self._waiting or self._is_closed:
            self._woken.set_result(None)
        return self._woken

    def close(self) -> None:
        """Stop following."""
        if not self._is_closed:
            self._is_closed = True
            self._stop(self)
            if self._woken is not None and not self._woken.done():
                self._woken.set_result(None)

    @property
    def is_closed(self) -> bool:
        """Whether no more events will arrive."""
        return self._is_closed
