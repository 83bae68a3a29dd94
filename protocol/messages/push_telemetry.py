"""PushTelemetry (key 72), version 0, flexible: a client's metrics."""

from barnabas.protocol.codec.schema import BOOL, BYTES, INT8, INT16, INT32, UUID, Request, Response, field


class PushTelemetryRequest(Request, key=72, versions="0", flexible="0+"):
    client_instance_id: bytes = field(UUID)
    subscription_id: int = field(INT32)
    terminating: bool = field(BOOL)
    compression_type: int = field(INT8)
    metrics: bytes = field(BYTES)


class PushTelemetryResponse(Response, key=72, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
