"""The cause of events of the current request, stored for code that continues it in a later turn of the event loop.

While the handler of a request is called, events know their cause. A request that is processed in slices before its
handler is called needs its cause again for the call. All else of a request is in its context.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from barnabas.broker.services import Services

T = TypeVar("T")


def keep_current_request(services: Services) -> Callable[[Callable[[], T]], T]:
    """Return a function that calls another one with the cause of the current request."""
    events = services.events
    cause = events.cause

    def call(go_on: Callable[[], T]) -> T:
        before, events.cause = events.cause, cause
        try:
            return go_on()
        finally:
            events.cause = before

    return call
