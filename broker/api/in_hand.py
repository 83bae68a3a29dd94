"""The context of the current request, stored for code that continues it in a later turn of the event loop.

While an entry is called, quotas know the client of the request, and events their cause. A request that is processed in
slices before its handler is called needs this context again for the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from barnabas.broker.services import Services

T = TypeVar("T")


def keep_in_hand(services: Services) -> Callable[[Callable[[], T]], T]:
    """Return a function that calls another one with the context of the current request."""
    in_force, events = services.quotas.in_force, services.events
    asking, cause = (None if in_force is None else in_force.asking), events.cause

    def call(go_on: Callable[[], T]) -> T:
        before, events.cause = events.cause, cause
        asking_before = None if in_force is None else in_force.asking
        if in_force is not None:
            in_force.asking = asking
        try:
            return go_on()
        finally:
            events.cause = before
            if in_force is not None:
                in_force.asking = asking_before

    return call
