"""GetTelemetrySubscriptions (key 71), v0: the metrics that a client should push, and how often (KIP-714).

A client without an id gets one. Errors: THROTTLING_QUOTA_EXCEEDED for a request before the client's interval is over,
unless its last push was refused because of an unknown subscription or compression.
"""

from __future__ import annotations

from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.records.compression import GZIP, LZ4, SNAPPY, ZSTD

_COMPRESSIONS = (ZSTD, LZ4, GZIP, SNAPPY)  # the best first, in Kafka's order


def handle(request: GetTelemetrySubscriptionsRequest, context: RequestContext) -> GetTelemetrySubscriptionsResponse:
    telemetry = context.services.telemetry
    instance_id = request.client_instance_id
    if instance_id == ZERO_UUID:
        instance_id = telemetry.new_instance_id()
    instance = telemetry.instance(instance_id, context.client_id, context.client_host, context.connection)
    code = instance.judge_get(telemetry.now_ms())
    if code is not ErrorCode.NONE:
        return GetTelemetrySubscriptionsResponse(
            error_code=code,
            client_instance_id=ZERO_UUID,
            subscription_id=0,
            accepted_compression_types=[],
            push_interval_ms=0,
            telemetry_max_bytes=0,
            delta_temporality=False,
            requested_metrics=[],
        )
    return GetTelemetrySubscriptionsResponse(
        error_code=ErrorCode.NONE,
        client_instance_id=instance_id,
        subscription_id=instance.subscription_id,
        accepted_compression_types=list(_COMPRESSIONS),
        push_interval_ms=instance.interval_ms,
        telemetry_max_bytes=telemetry.bytes_max,
        delta_temporality=True,
        requested_metrics=instance.metrics,
    )
