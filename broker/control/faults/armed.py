"""One armed fault: how often it matched and fired, and what it holds up at present.

Each thing held up is a future: it is done when that may continue, after its time or because it is released. A waiter
that goes away cancels its future. Invariant: once disarmed, the fault holds nothing up.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Mapping
from typing import Any

from barnabas.broker.control.faults.held_requests import BlockedRequest, HeldUp, HoldReason
from barnabas.broker.control.faults.matching import Chances
from barnabas.broker.control.faults.model import Fault
from barnabas.broker.runtime.clock import Clock
from barnabas.protocol.errors import KafkaError


class Armed:
    """An armed fault and its counters."""

    def __init__(
        self, fault: Fault, seed: int, loop: AbstractEventLoop, clock: Clock, changed: Callable[[], None]
    ) -> None:
        """Arm the fault. clock: the machine's. changed: called when the number of things held up changes."""
        self.fault = fault
        self.chances = Chances(fault.often, seed, fault.name)
        self.is_armed = True
        self._loop, self._clock, self._changed = loop, clock, changed
        self._held: dict[Future[None], HeldUp] = {}

    @property
    def name(self) -> str:
        """The name, unique among the armed faults."""
        return self.fault.name

    @property
    def is_live(self) -> bool:
        """Whether it may fire again."""
        return self.is_armed and not self.chances.is_over

    @property
    def is_unfired(self) -> bool:
        """Whether it fired less often than it was meant to; a fault without a limit: not even once."""
        return self.chances.fired < (self.fault.often.times or 1)

    @property
    def standing(self) -> int:
        """How many requests or steps are paused by it."""
        return sum(each.why is HoldReason.PAUSED for each in self._held.values())

    @property
    def who_stands(self) -> list[Mapping[str, Any]]:
        """The facts of each request or step that is paused by it."""
        return [each.about.facts for each in self._held.values() if each.why is HoldReason.PAUSED]

    @property
    def is_holding(self) -> bool:
        """Whether anything is held up."""
        return bool(self._held)

    def state(self) -> dict[str, Any]:
        """Return the state as JSON: the fault as it was given, and its counters."""
        return {
            "name": self.name,
            "match": self.fault.definition["match"],
            "do": self.fault.definition["do"],
            "times": self.fault.definition.get("times", 1),
            "matched": self.chances.matched,
            "fired": self.chances.fired,
            "standing": self.standing,
        }

    def held_up(self) -> list[HeldUp]:
        """Return everything that is held up, the earliest first."""
        return list(self._held.values())

    def hold(self, why: HoldReason, about: BlockedRequest, delay_ms: float | None = None) -> Future[None]:
        """Return a future that is done when it is released, or after `delay_ms`; at once if the fault is disarmed."""
        future: Future[None] = self._loop.create_future()
        if not self.is_armed:
            future.set_result(None)
            return future
        until_ms = None if delay_ms is None else self._clock.now_ms() + delay_ms
        self._held[future] = HeldUp(why, about, until_ms)
        future.add_done_callback(self._forget)
        if delay_ms is not None:
            timer = self._clock.call_later(delay_ms, lambda: _go(future))
            future.add_done_callback(lambda _: timer.cancel())
        self._changed()
        return future

    def failed(self, error: KafkaError) -> Future[None]:
        """Return a future that has failed: the step may not continue."""
        future: Future[None] = self._loop.create_future()
        future.set_exception(error)
        return future

    def let_go(self, why: HoldReason | None = None) -> int:
        """Release what is held up, for one reason or for all; return how many."""
        going = [future for future, held in self._held.items() if why is None or held.why is why]
        for future in going:
            del self._held[future]
            _go(future)
        return len(going)

    def disarm(self) -> None:
        """Disarm the fault: it no longer fires, and everything it holds up is released."""
        self.is_armed = False
        self.let_go()

    def _forget(self, future: Future[None]) -> None:
        self._held.pop(future, None)
        self._changed()


def _go(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
