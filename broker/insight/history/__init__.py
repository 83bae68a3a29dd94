"""The recent events of a broker: a bounded ring of events, and its followers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.insight.history.history import History
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.services import Services


def open_history(services: Services, machine_clock: Clock) -> History:
    """Begin and return the history of a running broker."""
    from barnabas.broker.insight.history.history import History

    return History(
        services.events,
        now_ms=services.clock.now_ms,
        machine_now_ms=machine_clock.now_ms,
        events_max=services.config.integer("barnabas.history.events.max"),
    )
