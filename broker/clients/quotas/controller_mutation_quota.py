"""The quota on created and deleted partitions (KIP-599), with one token bucket for each sharing.

A request is admitted while its client's bucket is not overdrawn, whatever its size, and may overdraw it. After that, a
request of a version that knows the error is refused (strict); an older one is carried out, and its client is throttled.

Pure: the caller passes the time. As Apache Kafka's ControllerMutationQuotaManager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.broker.clients.quotas.client_quota_manager import QuotaClient, Usage
from barnabas.broker.clients.quotas.quota_limits import QuotaLimits, Sharing
from barnabas.broker.clients.quotas.sampled_rate import Average, SampledRate, WindowSettings
from barnabas.broker.clients.quotas.sensors import Sensors
from barnabas.broker.clients.quotas.token_bucket import TokenBucket
from barnabas.protocol.errors import ErrorCode, KafkaError


class _Sensor:
    __slots__ = ("bucket", "throttle", "windows")

    def __init__(self, settings: WindowSettings) -> None:
        self.bucket = TokenBucket(settings)
        self.windows = SampledRate(settings)
        self.throttle = Average()


class ControllerMutationQuotaManager:
    """The mutation quotas that are set, and their usage."""

    def __init__(self, settings: WindowSettings) -> None:
        self.limits = QuotaLimits()
        self._sensors: Sensors[Sharing, _Sensor] = Sensors(lambda: _Sensor(settings))

    def record(self, client: QuotaClient, count: int, now_ms: int, *, is_strict: bool) -> int:
        """Record that `count` partitions are created or deleted; return the throttle time of the client in ms.

        If it is not 0 and `is_strict`, nothing was recorded: the change is not admitted.
        """
        sharing = self.limits.sharing(*client)
        sensor, limit = self._sensors.get(sharing, now_ms), self.limits.limit(sharing)
        if limit is None:
            sensor.windows.record(count, now_ms)
            return 0
        if is_strict:
            throttle_ms = sensor.bucket.throttle_ms(limit, now_ms)
            if throttle_ms:
                return throttle_ms
        sensor.windows.record(count, now_ms)
        sensor.bucket.take(count, limit, now_ms)
        return 0 if is_strict else sensor.bucket.throttle_ms(limit, now_ms)

    def note_throttled(self, client: QuotaClient, throttle_ms: int, now_ms: int) -> None:
        """Record a throttle time of the client, for metrics."""
        self._sensors.get(self.limits.sharing(*client), now_ms).throttle.record(throttle_ms, now_ms)

    def forget(self) -> None:
        """Forget all earlier usage."""
        self._sensors.clear()

    def usage(self, now_ms: int) -> Iterator[Usage]:
        """Yield the usage of all clients in the last hour."""
        for sharing, sensor in self._sensors.items(now_ms):
            yield Usage(sharing, sensor.windows.rate(now_ms), sensor.throttle.value(now_ms))


class ControllerMutationQuota:
    """The partitions that one request creates and deletes."""

    def __init__(
        self, quotas: ControllerMutationQuotaManager, client: QuotaClient, now_ms: Callable[[], int], *, is_strict: bool
    ) -> None:
        self._quotas, self._client, self._now_ms, self._is_strict = quotas, client, now_ms, is_strict
        self._throttled_until_ms = 0

    def admit(self, count: int) -> None:
        """Admit `count` more partitions. Raise KafkaError THROTTLING_QUOTA_EXCEEDED if they are not allowed."""
        now_ms = self._now_ms()
        throttle_ms = self._quotas.record(self._client, count, now_ms, is_strict=self._is_strict)
        if throttle_ms:
            self._throttled_until_ms = now_ms + throttle_ms
            if self._is_strict:
                raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    def throttle_ms(self) -> int:
        """Return the remaining throttle time of the client in ms."""
        return max(0, self._throttled_until_ms - self._now_ms())
