"""One client instance: its subscription and push interval, and whether its requests come in time. Pure decisions.

Knows no clock and no connection: the caller passes the time, in milliseconds that never go back. An instance is
created again when the subscriptions change, and may then request its subscription at once. Codes are Apache Kafka
4.4.0's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from barnabas.broker.config.resources.client_metrics import EVERY_METRIC, INTERVAL_MS, ClientMetricsSubscription
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.records.compression import COMPRESSION_NAMES
from barnabas.protocol.records.crc32c import crc32c

EXPIRY_MS_MIN = 60_000
_INTERVALS_BEFORE_EXPIRY = 3
_MAY_ASK_AGAIN = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


class Instance:
    """A client instance with the subscriptions of one moment."""

    def __init__(
        self,
        instance_id: bytes,
        attributes: Mapping[str, str | None],
        subscriptions: Iterable[ClientMetricsSubscription],
        version: int,
    ) -> None:
        """Create an instance. `attributes`: matched by subscriptions. `version`: of the subscriptions."""
        mine = [each for each in subscriptions if each.is_for(attributes)]
        metrics: set[str] = set().union(*(each.metrics for each in mine))
        self.instance_id = instance_id
        self.attributes = attributes
        self.version = version
        self.metrics = [EVERY_METRIC] if EVERY_METRIC in metrics else sorted(metrics)
        self.interval_ms = min((INTERVAL_MS, *(each.interval_ms for each in mine)))
        self.subscription_id = _subscription_id(self.metrics, self.interval_ms, instance_id)
        self.is_terminating = False
        self.last_error = ErrorCode.NONE
        self.expires_ms = inf
        self._got_ms = self._pushed_ms = -inf

    def stay(self, now_ms: float) -> None:
        """Prolong its expiry after a request: it is forgotten after three intervals without requests."""
        self.expires_ms = now_ms + max(EXPIRY_MS_MIN, self.interval_ms * _INTERVALS_BEFORE_EXPIRY)

    def judge_get(self, now_ms: float) -> ErrorCode:
        """Return NONE if it may request its subscription now, else the error code."""
        if now_ms - max(self._got_ms, self._pushed_ms) >= self.interval_ms:
            self._got_ms = now_ms
        elif self.last_error not in _MAY_ASK_AGAIN:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        self.last_error = ErrorCode.NONE
        return ErrorCode.NONE

    def judge_push(
        self, now_ms: float, *, subscription_id: int, is_terminating: bool, compression: int, size: int, bytes_max: int
    ) -> ErrorCode:
        """Return NONE if it may push this now, else the error code. A terminating push is allowed at any time, once."""
        code = ErrorCode.NONE
        if self.is_terminating:
            code = ErrorCode.INVALID_REQUEST
        elif not self._may_push(now_ms) and not is_terminating:
            code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
        elif subscription_id != self.subscription_id:
            code = ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        elif compression not in COMPRESSION_NAMES:
            code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        elif size > bytes_max:
            code = ErrorCode.TELEMETRY_TOO_LARGE
        self.is_terminating = is_terminating
        self.last_error = code
        return code

    def _may_push(self, now_ms: float) -> bool:
        may = self._got_ms > self._pushed_ms or now_ms - self._pushed_ms >= self.interval_ms
        if may:
            self._pushed_ms = now_ms
        return may


def _subscription_id(metrics: list[str], interval_ms: int, instance_id: bytes) -> int:
    """Return an id that differs for other metrics, another interval or another client, as far as 32 bits allow."""
    unsigned = crc32c(f"{metrics}{interval_ms}".encode()) ^ crc32c(instance_id)
    return unsigned - (1 << 32) if unsigned >> 31 else unsigned
