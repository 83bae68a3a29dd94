"""What is known while a request is in hand, kept for who goes on with it in a later turn of the loop.

While an entry is called, quotas know whose request it is, and events what they are caused by. A request that is worked
on in slices before its handler is asked has to be in hand again when it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from barnabas.broker.services import Services

T = TypeVar("T")


def keep_in_hand(services: Services) -> Callable[[Callable[[], T]], T]:
    """What calls a function with the request in hand that is in hand now."""
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
