"""The armed faults of a broker: armed, listed, disarmed, released, awaited.

Knows no requests, steps and disks: the parts that intercept these read the armed faults, and are notified of changes.
They call `fired` when a fault took effect. Each change and each firing is a line in the log and an event.

Invariants: names are unique among the armed; a plan is armed as a whole or not at all; a stopping broker has none.
"""

from __future__ import annotations

import asyncio
import json
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.held_requests import HoldReason
from barnabas.broker.control.faults.model import FAULTS_MAX, FaultPlan, FaultRefused
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.events import Events
from barnabas.broker.runtime.events.kinds import FAULT_CHANGED, FAULT_FIRED
from barnabas.broker.runtime.log_lines import Seldom, line, logger
from barnabas.client.near_names import did_you_mean

_log = logger("faults")
_LINES_MAX = 100
"""How many firings of one fault are logged one by one; after that one line a minute."""


class NoSuchFault(FaultRefused):
    """No fault has this name."""


class NotInTime(Exception):
    """The awaited state was not reached within the timeout. str() describes the progress."""


class FaultRegistry:
    """The armed faults of one broker, however many nodes it has."""

    def __init__(self, loop: AbstractEventLoop, clock: Clock, events: Events) -> None:
        """Create the registry. clock: the machine's."""
        self._loop, self._clock, self._events = loop, clock, events
        self._armed: dict[str, Armed] = {}
        self._listeners: list[Callable[[], None]] = []
        self._news: Future[None] | None = None
        self._numbered = 0
        self._is_closed = False
        self._seldom = Seldom(_log.info)

    # --- for the parts that intercept ---

    def listen(self, listener: Callable[[], None]) -> None:
        """Call the listener now, and whenever the live faults change."""
        self._listeners.append(listener)
        listener()

    @property
    def live(self) -> Sequence[Armed]:
        """The faults that may fire, in the order in which they were armed."""
        return [each for each in self._armed.values() if each.is_live]

    def now_ms(self) -> int:
        """Return the time, by the machine's clock."""
        return self._clock.now_ms()

    def fired(self, armed: Armed, does: str, facts: Mapping[str, Any]) -> None:
        """Record that a fault took effect. facts: of the request, step or file."""
        if armed.chances.fired <= _LINES_MAX:
            _log.info(line("fault fired", fault=armed.name, does=does, **facts))
        else:
            self._seldom.line(armed.name, self._clock.now_ms(), "fault fired", fault=armed.name, does=does, **facts)
        if self._events.is_on:
            self._events.emit(FAULT_FIRED, {"fault": armed.name, "does": does, "count": armed.chances.fired, **facts})
        if armed.chances.is_over:
            self._notify_listeners()
        self._changed()

    # --- for tests ---

    def arm(self, plan: FaultPlan) -> list[Armed]:
        """Arm all faults of a plan. Raise FaultRefused, with nothing armed, if that is impossible."""
        if self._is_closed:
            raise FaultRefused("the broker stops")
        there_are = len(self._armed)
        if there_are + len(plan.faults) > FAULTS_MAX:
            raise FaultRefused(f"{there_are} faults are armed, and at most {FAULTS_MAX} can be")
        names = [fault.name for fault in plan.faults if fault.name]
        for position, name in enumerate(names):
            if name in self._armed or name in names[:position]:
                raise FaultRefused(f"a fault {name} exists already")
        taken = {*names, *self._armed}
        added = []
        for fault in plan.faults:
            named = fault if fault.name else replace(fault, name=self._new_name(taken))
            armed = Armed(named, plan.seed, self._loop, self._clock, self._changed)
            self._armed[armed.name] = armed
            added.append(armed)
            texts = {key: json.dumps(fault.definition[key]) for key in ("match", "do")}
            self._note("armed", armed.name, **texts, times=fault.definition.get("times", 1))
        self._notify_listeners()
        return added

    def every(self) -> list[Armed]:
        """Return all armed faults, including those that no longer fire."""
        return list(self._armed.values())

    def get(self, name: str) -> Armed:
        """Return the fault of this name. Raise NoSuchFault, with the existing names, if there is none."""
        armed = self._armed.get(name)
        if armed is None:
            there_are = f"there are {', '.join(self._armed)}" if self._armed else "none is armed"
            raise NoSuchFault(f"there is no fault {name[:100]!r}{did_you_mean(name, self._armed) or f': {there_are}'}")
        return armed

    def unfired(self) -> list[str]:
        """Return the names of the faults that fired less often than they were meant to."""
        return [each.name for each in self._armed.values() if each.is_unfired]

    def release(self, name: str) -> int:
        """Release what is paused by the fault; return how many. Raises NoSuchFault."""
        count = self.get(name).let_go(HoldReason.PAUSED)
        self._note("released", name, count=count)
        self._changed()
        return count

    def disarm(self, name: str) -> Armed:
        """Disarm a fault, and release all that it holds up. Raises NoSuchFault."""
        armed = self.get(name)
        self._take_back([armed])
        return armed

    def reset(self) -> int:
        """Disarm all faults; return how many there were."""
        armed = self.every()
        self._take_back(armed)
        return len(armed)

    async def wait_fired(self, name: str, times: int, timeout_s: float) -> Armed:
        """Wait until it has fired this often. Raises NoSuchFault, also if it is disarmed meanwhile; NotInTime."""
        armed = self.get(name)
        if not await self._until(lambda: armed.chances.fired >= times, armed, timeout_s):
            raise NotInTime(f"fault {name} has fired {armed.chances.fired} of {times} times in {timeout_s:g} s")
        return armed

    async def wait_standing(self, name: str, count: int, timeout_s: float) -> Armed:
        """Wait until this many are paused by it. Raises as `wait_fired` does."""
        armed = self.get(name)
        if not await self._until(lambda: armed.standing >= count, armed, timeout_s):
            raise NotInTime(f"{armed.standing} of {count} are paused by fault {name} after {timeout_s:g} s")
        return armed

    def close(self) -> None:
        """Disarm all faults, and arm no more, because the broker stops."""
        self._is_closed = True
        if self._armed:
            self.reset()

    # --- helpers ---

    def _take_back(self, armed: Sequence[Armed]) -> None:
        for each in armed:
            del self._armed[each.name]
            each.is_armed = False
        self._notify_listeners()  # so that released requests match none of them
        for each in armed:
            each.disarm()
            self._note("disarmed", each.name, matched=each.chances.matched, fired=each.chances.fired)
        self._changed()

    def _new_name(self, taken: set[str]) -> str:
        while True:
            self._numbered += 1
            name = f"fault-{self._numbered}"
            if name not in taken:
                return name

    def _note(self, change: str, name: str, **facts: Any) -> None:
        _log.info(line(f"fault {change}", fault=name, **facts))
        if self._events.is_on:
            self._events.emit(FAULT_CHANGED, {"fault": name, "change": change})

    def _notify_listeners(self) -> None:
        for listener in self._listeners:
            listener()

    def _changed(self) -> None:
        """Wake the waiters, to check again."""
        news, self._news = self._news, None
        if news is not None and not news.done():
            news.set_result(None)

    async def _until(self, is_so: Callable[[], bool], armed: Armed, timeout_s: float) -> bool:
        """Wait for the condition; return whether it was met in time."""
        with suppress(TimeoutError):  # the caller gets False
            async with asyncio.timeout(timeout_s):
                while armed.is_armed and not is_so():
                    if self._news is None:
                        self._news = self._loop.create_future()
                    await asyncio.shield(self._news)
        if not armed.is_armed:
            raise NoSuchFault(f"fault {armed.name} was disarmed")
        return is_so()
