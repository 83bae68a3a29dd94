"""RenewDelegationToken (key 39), versions 1 to 2, flexible from 2: prolong a delegation token."""

from barnabas.protocol.codec.schema import BYTES, INT16, INT32, INT64, Request, Response, field


class RenewDelegationTokenRequest(Request, key=39, versions="1-2", flexible="2+"):
    hmac: bytes = field(BYTES)
    renew_period_ms: int = field(INT64)


class RenewDelegationTokenResponse(Response, key=39, versions="1-2", flexible="2+"):
    error_code: int = field(INT16)
    expiry_timestamp_ms: int = field(INT64)
    throttle_time_ms: int = field(INT32, default=0)
