"""CreateDelegationToken (key 38), versions 1 to 3, flexible from 2: make a delegation token.

Versions: 3 a token for another owner.
"""

from barnabas.protocol.codec.schema import BYTES, INT16, INT32, INT64, STRING, Request, Response, Struct, array, field


class CreatableRenewers(Struct):
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)


class CreateDelegationTokenRequest(Request, key=38, versions="1-3", flexible="2+"):
    owner_principal_type: str | None = field(STRING, versions="3+", nullable="3+", default="")
    owner_principal_name: str | None = field(STRING, versions="3+", nullable="3+", default="")
    renewers: list[CreatableRenewers] = field(array(CreatableRenewers))
    max_lifetime_ms: int = field(INT64)


class CreateDelegationTokenResponse(Response, key=38, versions="1-3", flexible="2+"):
    error_code: int = field(INT16)
    principal_type: str = field(STRING)
    principal_name: str = field(STRING)
    token_requester_principal_type: str = field(STRING, versions="3+", default="")
    token_requester_principal_name: str = field(STRING, versions="3+", default="")
    issue_timestamp_ms: int = field(INT64)
    expiry_timestamp_ms: int = field(INT64)
    max_timestamp_ms: int = field(INT64)
    token_id: str = field(STRING)
    hmac: bytes = field(BYTES)
    throttle_time_ms: int = field(INT32, default=0)
