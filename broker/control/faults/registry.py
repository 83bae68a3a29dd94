"""The faults that are armed in a broker: armed, listed, disarmed, released, waited for.

Knows no requests, steps and disks: what meets these asks for the armed faults, and is told when they are others. It
says `fired` when one did what it does. Each change and each firing is a line in the log and an event.

Invariants: names are unique among the armed; a plan is armed as a whole or not at all; a broker that stops has none.
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
from barnabas.broker.control.faults.held import Held
from barnabas.broker.control.faults.model import FAULTS_MAX, FaultRefused, Plan
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.events import Events
from barnabas.broker.runtime.events.kinds import FAULT_CHANGED, FAULT_FIRED
from barnabas.broker.runtime.log_lines import Seldom, line, logger
from barnabas.client.near_names import did_you_mean

_log = logger("faults")
_LINES_MAX = 100
"""So many firings of one fault are logged one by one, from then on one a minute."""


class NoSuchFault(FaultRefused):
    """There is none of this name."""


class NotInTime(Exception):
    """What was waited for has not come in the time given. str() says how far it is."""


class FaultRegistry:
    """Those of one broker, however many nodes it has."""

    def __init__(self, loop: AbstractEventLoop, clock: Clock, events: Events) -> None:
        """clock: the machine's."""
        self._loop, self._clock, self._events = loop, clock, events
        self._armed: dict[str, Armed] = {}
        self._listeners: list[Callable[[], None]] = []
        self._news: Future[None] | None = None
        self._numbered = 0
        self._is_closed = False
        self._seldom = Seldom(_log.info)

    # --- for whoever meets what faults match ---

    def listen(self, listener: Callable[[], None]) -> None:
        """Call it whenever there are other faults that may fire."""
        self._listeners.append(listener)
        listener()

    @property
    def live(self) -> Sequence[Armed]:
        """Those that may fire, in the order in which they were armed."""
        return [each for each in self._armed.values() if each.is_live]

    def now_ms(self) -> int:
        """The time, by the machine's clock."""
        return self._clock.now_ms()

    def fired(self, armed: Armed, does: str, facts: Mapping[str, Any]) -> None:
        """It did what it does, to something of which these are facts."""
        if armed.chances.fired <= _LINES_MAX:
            _log.info(line("fault fired", fault=armed.name, does=does, **facts))
        else:
            self._seldom.line(armed.name, self._clock.now_ms(), "fault fired", fault=armed.name, does=does, **facts)
        if self._events.is_on:
            self._events.tell(FAULT_FIRED, {"fault": armed.name, "does": does, "count": armed.chances.fired, **facts})
        if armed.chances.is_over:
            self._tell_listeners()
        self._changed()

    # --- for whoever tests ---

    def arm(self, plan: Plan) -> list[Armed]:
        """Arm all of them. FaultRefused, and nothing is armed then."""
        if self._is_closed:
            raise FaultRefused("the broker stops")
        there_are = len(self._armed)
        if there_are + len(plan.faults) > FAULTS_MAX:
            raise FaultRefused(f"{there_are} faults are armed, and at most {FAULTS_MAX} can be")
        names = [fault.name for fault in plan.faults if fault.name]
        for position, name in enumerate(names):
            if name in self._armed or name in names[:position]:
                raise FaultRefused(f"there is a fault {name} already")
        taken = {*names, *self._armed}
        added = []
        for fault in plan.faults:
            named = fault if fault.name else replace(fault, name=self._new_name(taken))
            armed = Armed(named, plan.seed, self._loop, self._clock, self._changed)
            self._armed[armed.name] = armed
            added.append(armed)
            told = {key: json.dumps(fault.told[key]) for key in ("match", "do")}
            self._note("armed", armed.name, **told, times=fault.told.get("times", 1))
        self._tell_listeners()
        return added

    def every(self) -> list[Armed]:
        """All that are armed, also those that fire no more."""
        return list(self._armed.values())

    def get(self, name: str) -> Armed:
        """NoSuchFault says which there are."""
        armed = self._armed.get(name)
        if armed is None:
            there_are = f"there are {', '.join(self._armed)}" if self._armed else "none is armed"
            raise NoSuchFault(f"there is no fault {name[:100]!r}{did_you_mean(name, self._armed) or f': {there_are}'}")
        return armed

    def unfired(self) -> list[str]:
        """The names of those that did not fire as often as they were to."""
        return [each.name for each in self._armed.values() if each.is_unfired]

    def release(self, name: str) -> int:
        """Let go on what stands at its pause; how many. NoSuchFault."""
        count = self.get(name).let_go(Held.PAUSED)
        self._note("released", name, count=count)
        self._changed()
        return count

    def disarm(self, name: str) -> Armed:
        """Take one back, and let go on all that it holds up. NoSuchFault."""
        armed = self.get(name)
        self._take_back([armed])
        return armed

    def reset(self) -> int:
        """Take all back; how many there were."""
        armed = self.every()
        self._take_back(armed)
        return len(armed)

    async def wait_fired(self, name: str, times: int, timeout_s: float) -> Armed:
        """Wait until it has fired so often. NoSuchFault, also if it is disarmed meanwhile; NotInTime."""
        armed = self.get(name)
        if not await self._until(lambda: armed.chances.fired >= times, armed, timeout_s):
            raise NotInTime(f"fault {name} has fired {armed.chances.fired} of {times} times in {timeout_s:g} s")
        return armed

    async def wait_standing(self, name: str, count: int, timeout_s: float) -> Armed:
        """Wait until so many stand at its pause. As `wait_fired`."""
        armed = self.get(name)
        if not await self._until(lambda: armed.standing >= count, armed, timeout_s):
            raise NotInTime(f"{armed.standing} of {count} stand at fault {name} after {timeout_s:g} s")
        return armed

    def close(self) -> None:
        """The broker stops: take all back, and arm none any more."""
        self._is_closed = True
        if self._armed:
            self.reset()

    # --- helpers ---

    def _take_back(self, armed: Sequence[Armed]) -> None:
        for each in armed:
            del self._armed[each.name]
            each.is_armed = False
        self._tell_listeners()  # so that what goes on now meets none of them
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
            self._events.tell(FAULT_CHANGED, {"fault": name, "change": change})

    def _tell_listeners(self) -> None:
        for listener in self._listeners:
            listener()

    def _changed(self) -> None:
        """Wake whoever waits, to look again."""
        news, self._news = self._news, None
        if news is not None and not news.done():
            news.set_result(None)

    async def _until(self, is_so: Callable[[], bool], armed: Armed, timeout_s: float) -> bool:
        """Whether it came to be so in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while armed.is_armed and not is_so():
                    if self._news is None:
                        self._news = self._loop.create_future()
                    await asyncio.shield(self._news)
        if not armed.is_armed:
            raise NoSuchFault(f"fault {armed.name} was disarmed")
        return is_so()
