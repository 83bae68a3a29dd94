"""PushTelemetry (key 72), v0: a client's metrics, in OpenTelemetry's format (KIP-714).

Errors: INVALID_REQUEST without a client instance id, and after the terminating push; THROTTLING_QUOTA_EXCEEDED before
the interval is over; UNKNOWN_SUBSCRIPTION_ID; UNSUPPORTED_COMPRESSION_TYPE; TELEMETRY_TOO_LARGE; INVALID_RECORD for
data that is no metrics, and for more than `telemetry.max.bytes` of them after decompression.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.clients.telemetry.instances import Instance
from barnabas.broker.clients.telemetry.telemetry import RESERVED_IDS, Telemetry
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import DecodeError, ErrorCode
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from barnabas.storage.steps import Steps

_READING = WorkClass(steps_max=1_000)


def handle(
    request: PushTelemetryRequest, context: RequestContext
) -> PushTelemetryResponse | Future[PushTelemetryResponse]:
    instance_id = request.client_instance_id
    if instance_id in RESERVED_IDS:
        return PushTelemetryResponse(error_code=ErrorCode.INVALID_REQUEST)
    telemetry = context.services.telemetry
    instance = telemetry.instance(instance_id, context.client_id, context.client_host, context.connection)
    code = instance.judge_push(
        telemetry.now_ms(),
        subscription_id=request.subscription_id,
        is_terminating=request.terminating,
        compression=request.compression_type,
        size=len(request.metrics),
        bytes_max=telemetry.bytes_max,
    )
    if code is not ErrorCode.NONE or not request.metrics:
        return PushTelemetryResponse(error_code=code)
    data = bytes(request.metrics)
    work = _kept(telemetry, instance, request.compression_type, data)
    return context.services.request_scheduler.in_slices(lambda: work, _READING)


def _kept(telemetry: Telemetry, instance: Instance, compression: int, data: bytes) -> Steps[PushTelemetryResponse]:
    try:
        yield from telemetry.keep(instance, compression, data)
    except DecodeError:
        instance.last_error = ErrorCode.INVALID_RECORD
        return PushTelemetryResponse(error_code=ErrorCode.INVALID_RECORD)
    return PushTelemetryResponse(error_code=ErrorCode.NONE)
