"""What happened last in a broker: a bounded ring of its events, and those who follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.context import Services
    from barnabas.broker.environment import Environment
    from barnabas.broker.history.history import History


def open_history(services: Services, config: BrokerConfig, environment: Environment) -> History:
    """The history of a running broker, which begins now."""
    from barnabas.broker.history.history import History

    return History(
        services.events,
        now_ms=environment.clock.now_ms,
        machine_now_ms=environment.machine_clock.now_ms,
        events_max=config.integer("barnabas.history.events.max"),
    )
