"""What the console is given of a broker, and how it looks at much of it without holding up others."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from barnabas.broker.runtime.scheduler import Work, WorkClass

if TYPE_CHECKING:
    from barnabas.broker.control.faults.faults import Faults
    from barnabas.broker.control.time_control.time_control import TimeControl
    from barnabas.broker.http.served_node import ServedNode
    from barnabas.broker.insight.history.history import History
    from barnabas.broker.insight.why.why import Why
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.services import Deferred, Services

T = TypeVar("T")
LOOK = WorkClass(under_way_max=2, steps_max=50)
"""A step reads a file now and then."""


class Observed(NamedTuple):
    """A broker."""

    services: Services
    """Of all its nodes."""
    members: Sequence[ServedNode]
    time_control: Deferred[TimeControl]
    faults: Deferred[Faults]
    unready_reason: Callable[[], str | None]
    """Why clients cannot work with it now, or None."""
    awaited: Callable[[], Iterable[str]]
    """What somebody may wait for although it can be used, in words."""
    clock: Clock
    """The machine's: how often a page is looked at again."""
    may_change: bool
    """Whether there is --control."""
    history: History | None = None
    """What happened, where that is kept: with --control."""
    why: Why | None = None
    """What may be asked, with --control."""

    @property
    def now_ms(self) -> int:
        """By the clock that clients are told."""
        return self.services.clock.now_ms()

    async def in_turns(self, begin: Callable[[], Work[T]]) -> T:
        """What comes of the steps. Others have their turns in between."""
        found = self.services.slices.in_slices(begin, LOOK)
        return await found if isinstance(found, Future) else found
