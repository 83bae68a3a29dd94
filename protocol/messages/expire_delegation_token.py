"""ExpireDelegationToken (key 40), versions 1 to 2, flexible from 2: let a delegation token expire sooner, or at
once.
"""

from barnabas.protocol.codec.schema import BYTES, INT16, INT32, INT64, Request, Response, field


class ExpireDelegationTokenRequest(Request, key=40, versions="1-2", flexible="2+"):
    hmac: bytes = field(BYTES)
    expiry_time_period_ms: int = field(INT64)


class ExpireDelegationTokenResponse(Response, key=40, versions="1-2", flexible="2+"):
    error_code: int = field(INT16)
    expiry_timestamp_ms: int = field(INT64)
    throttle_time_ms: int = field(INT32, default=0)
