"""SaslAuthenticate (key 36), v0-2, on a connection that needs no authentication, or has authenticated: it is refused.

Before authentication, and on re-authentication of a session with a lifetime,
`broker/api/authentication/sasl_authenticator.py` answers it.
"""

from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

_TOO_LATE = "SaslAuthenticate request received after successful authentication"


def handle(request: SaslAuthenticateRequest, context: RequestContext) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=_TOO_LATE, auth_bytes=b"")
