"""SaslHandshake (key 17), v0 and v1, of a connection that need not say whom it speaks for, or has: it is refused.

Before that, and where a session is to go on beyond its lifetime, `broker/api/authentication/sasl_authenticator.py`
answers it.
"""

from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])
