"""Client telemetry (KIP-714): clients get the metrics to push, and pushed metrics are stored for a scrape."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.clients.telemetry.telemetry import Telemetry
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.runtime.clock import Clock


def open_telemetry(
    catalogue: Catalogue, config: BrokerConfig, random_bytes: Callable[[int], bytes], clock: Clock
) -> Telemetry:
    """Create the telemetry of a broker, loaded when it is first needed."""
    from barnabas.broker.clients.telemetry.telemetry import Telemetry

    bytes_max = config.integer("telemetry.max.bytes")
    return Telemetry(catalogue, bytes_max, random_bytes, lambda: clock.monotonic() * 1000)
