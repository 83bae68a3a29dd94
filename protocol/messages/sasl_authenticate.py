"""SaslAuthenticate (key 36), versions 0 to 2, flexible from 2: carry the tokens of a SASL exchange.

Versions: 1 how long the session lives, so that the client authenticates again in time.
"""

from barnabas.protocol.codec.schema import BYTES, INT16, INT64, STRING, Request, Response, field


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible="2+"):
    auth_bytes: bytes = field(BYTES)


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    auth_bytes: bytes = field(BYTES)
    session_lifetime_ms: int = field(INT64, versions="1+", default=0, ignorable=True)
