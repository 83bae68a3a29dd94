"""Where the parts of a broker tell what happens, and whoever listens hears of it.

Knows no part and no listener. A part asks `is_on` first, so that an event that nobody listens to costs a look at an
attribute, and its facts are not even put together:

    if events.is_on:
        events.tell(TRANSACTION_PREPARED, {"transactional_id": name, ...})

A listener is called at once, in the call in which the event happens: it must neither raise nor do much. At a kind that
may be paused it may give a future, and the part goes on when that is done.

Invariant: listeners are called in the order in which they came.
"""

from __future__ import annotations

from asyncio import Future, gather
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from barnabas.broker.events.kinds import Kind

Facts: TypeAlias = Mapping[str, Any]
Listener: TypeAlias = "Callable[[Kind, Facts], Future[None] | None]"


class Events:
    """Those of one broker, however many nodes it has."""

    __slots__ = ("_listeners", "is_on")

    def __init__(self) -> None:
        self.is_on = False
        """Whether anybody listens."""
        self._listeners: tuple[Listener, ...] = ()

    def listen(self, listener: Listener) -> None:
        """Call it at each event from now on."""
        self._listeners = (*self._listeners, listener)
        self.is_on = True

    def stop_listening(self, listener: Listener) -> None:
        """Call it no more."""
        self._listeners = tuple(each for each in self._listeners if each != listener)
        self.is_on = bool(self._listeners)

    def tell(self, kind: Kind, facts: Facts) -> Future[Any] | None:
        """It happened. What to wait for before going on, where somebody holds it up; None otherwise."""
        held = [future for listener in self._listeners if (future := listener(kind, facts)) is not None]
        if not held:
            return None
        assert kind.may_pause, f"{kind.name} cannot be held up"
        return held[0] if len(held) == 1 else gather(*held)
