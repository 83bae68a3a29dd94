"""UnregisterBroker (key 64), version 0, flexible: forget a broker that is gone."""

from barnabas.protocol.codec.schema import INT16, INT32, STRING, Request, Response, field


class UnregisterBrokerRequest(Request, key=64, versions="0", flexible="0+"):
    broker_id: int = field(INT32)


class UnregisterBrokerResponse(Response, key=64, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
