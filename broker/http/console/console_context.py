"""The parts of a broker that the console uses, and reads of much data in slices of the event loop."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from barnabas.broker.insight.why.sources.registry_source import no_registry
from barnabas.broker.runtime.scheduler import Work, WorkClass

if TYPE_CHECKING:
    from barnabas.broker.control.faults.faults import Faults
    from barnabas.broker.control.time_control.time_control import TimeControl
    from barnabas.broker.http.console.traffic import Traffic
    from barnabas.broker.http.served_node import ServedNode
    from barnabas.broker.insight.history.history import History
    from barnabas.broker.insight.why.sources.registry_source import RegistrySource
    from barnabas.broker.insight.why.why import Why
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.services import Deferred, Services

T = TypeVar("T")
LOOK = WorkClass(under_way_max=2, steps_max=50)
"""A step reads a file now and then."""


class ConsoleContext(NamedTuple):
    """The parts of a broker that the console reads and changes."""

    services: Services
    """Of all its nodes."""
    members: Sequence[ServedNode]
    time_control: Deferred[TimeControl]
    faults: Deferred[Faults]
    unready_reason: Callable[[], str | None]
    """Returns why clients cannot work with the broker now, or None."""
    awaited: Callable[[], Iterable[str]]
    """Returns what clients may wait for although the broker can be used, in words."""
    clock: Clock
    """The machine's: sets how often a page is refreshed."""
    may_change: bool
    """Whether there is --control."""
    traffic: Traffic
    """The rates of topics."""
    history: History | None = None
    """The recent events, if they are stored: with --control."""
    why: Why | None = None
    """The queries about waits, with --control."""
    registry: RegistrySource = no_registry
    """Returns the schema registry, if it is served."""

    @property
    def now_ms(self) -> int:
        """The time by the broker's clock."""
        return self.services.clock.now_ms()

    async def in_turns(self, begin: Callable[[], Work[T]]) -> T:
        """Return the result of the steps. Other tasks run in between."""
        found = self.services.request_scheduler.in_slices(begin, LOOK)
        return await found if isinstance(found, Future) else found
