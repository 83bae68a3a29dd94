"""SaslHandshake (key 17), v0 and v1, on a connection that needs no authentication, or has authenticated: it is refused.

Before authentication, and on re-authentication of a session with a lifetime,
`broker/api/authentication/sasl_authenticator.py` answers it.
"""

from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])
