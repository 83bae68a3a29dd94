"""The rates of new connections: to a broker, by one of its listeners, from one address. As Kafka's ConnectionQuotas.

Pure: the caller passes the time and the configured limits. A connection that exceeds the rate of the broker or a
listener is accepted later; one that exceeds the rate of its address is refused, and is not counted.
"""

from __future__ import annotations

from typing import Final

from barnabas.broker.clients.quotas.sampled_rate import SampledRate, WindowSettings
from barnabas.broker.clients.quotas.sensors import Sensors

NO_LIMIT: Final = 0x7FFF_FFFF


class ConnectionRates:
    """The rates of recent connections."""

    def __init__(self, settings: WindowSettings) -> None:
        self._wait_ms_max = settings.size_ms
        self._broker = SampledRate(settings)
        self._listeners: Sensors[str, SampledRate] = Sensors(lambda: SampledRate(settings))
        self._addresses: Sensors[str, SampledRate] = Sensors(lambda: SampledRate(settings))

    def wait_ms(self, listener: str, broker_max: int | None, listener_max: int, now_ms: int) -> int:
        """Record a connection by a listener; return its delay in ms. broker_max: None if it does not count for that."""
        ours = [(self._listeners.get(listener, now_ms), listener_max)]
        if broker_max is not None:
            ours.append((self._broker, broker_max))
        waits = []
        for windows, most in ours:
            windows.record(1, now_ms)
            if most < NO_LIMIT:
                waits.append(windows.throttle_ms(max(most, 1), now_ms, self._wait_ms_max))
        return max(waits, default=0)

    def refused_ms(self, listener: str, address: str, address_max: int, counts_for_broker: bool, now_ms: int) -> int:
        """Record the same connection for its address; return 0, or the delay in ms before it is closed."""
        if address_max >= NO_LIMIT:
            return 0
        windows = self._addresses.get(address, now_ms)
        windows.record(1, now_ms)
        refused_ms = windows.throttle_ms(max(address_max, 1), now_ms, self._wait_ms_max)
        if refused_ms:
            windows.record(-1, now_ms)
            self._listeners.get(listener, now_ms).record(-1, now_ms)
            if counts_for_broker:
                self._broker.record(-1, now_ms)
        return refused_ms
