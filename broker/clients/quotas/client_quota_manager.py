"""Quotas on a rate, of one kind: bytes produced or fetched per second, the share of a thread's time.

Pure: the caller passes the time. As Apache Kafka's ClientQuotaManager. The throttle time of one quota is computed in
`sampled_rate.py`; `quota_managers.py` takes the largest of a request's.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from barnabas.broker.clients.quotas.quota_limits import QuotaLimits, Sharing
from barnabas.broker.clients.quotas.sampled_rate import THROTTLE_MS_MAX, Average, SampledRate, WindowSettings
from barnabas.broker.clients.quotas.sensors import Sensors


class QuotaClient(NamedTuple):
    """The user and client id of a request."""

    user: str
    client_id: str


class Usage(NamedTuple):
    """The usage of the clients that share a quota, for metrics."""

    sharing: Sharing
    rate: float
    throttle_ms: float
    """The average of their throttle times."""


class _Sensor:
    __slots__ = ("throttle", "windows")

    def __init__(self, settings: WindowSettings) -> None:
        self.windows = SampledRate(settings)
        self.throttle = Average()


class ClientQuotaManager:
    """The quotas of one kind that are set, and their usage."""

    def __init__(self, settings: WindowSettings, throttle_ms_max: int = THROTTLE_MS_MAX) -> None:
        self.limits = QuotaLimits()
        self._settings = settings
        self._throttle_ms_max = throttle_ms_max
        self._sensors: Sensors[Sharing, _Sensor] = Sensors(lambda: _Sensor(settings))

    def record(self, client: QuotaClient, value: float, now_ms: int) -> int:
        """Record the usage of `value`; return the throttle time of the client in ms."""
        sharing = self.limits.sharing(*client)
        windows = self._sensors.get(sharing, now_ms).windows
        windows.record(value, now_ms)
        limit = self.limits.limit(sharing)
        return 0 if limit is None else windows.throttle_ms(limit, now_ms, self._throttle_ms_max)

    def note(self, client: QuotaClient, value: float, now_ms: int) -> None:
        """Record the usage of `value` without throttling; a negative value reverts a recorded usage."""
        self._sensors.get(self.limits.sharing(*client), now_ms).windows.record(value, now_ms)

    def note_throttled(self, client: QuotaClient, throttle_ms: int, now_ms: int) -> None:
        """Record a throttle time of the client, for metrics."""
        self._sensors.get(self.limits.sharing(*client), now_ms).throttle.record(throttle_ms, now_ms)

    def most_at_once(self, client: QuotaClient) -> float:
        """Return how much a client can use at once without throttling, if it has used nothing for a while."""
        limit = self.limits.limit(self.limits.sharing(*client))
        return inf if limit is None else limit * (self._settings.windows - 1) * self._settings.size_ms / 1000

    def forget(self) -> None:
        """Forget all earlier usage."""
        self._sensors.clear()

    def usage(self, now_ms: int) -> Iterator[Usage]:
        """Yield the usage of all clients in the last hour."""
        for sharing, sensor in self._sensors.items(now_ms):
            yield Usage(sharing, sensor.windows.rate(now_ms), sensor.throttle.value(now_ms))
