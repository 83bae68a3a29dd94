"""ExpireDelegationToken (key 40), v1-2: set the expiry of a delegation token, by its HMAC.

A negative period removes the token. For its owner and its renewers.
"""

from __future__ import annotations

from barnabas.broker.api.guards.delegation_token_checks import changed
from barnabas.broker.services import RequestContext
from barnabas.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


def handle(request: ExpireDelegationTokenRequest, context: RequestContext) -> ExpireDelegationTokenResponse:
    code, expires_ms = changed(
        context.connection,
        context.services.tokens,
        lambda tokens: tokens.expire(context.principal, request.hmac, request.expiry_time_period_ms),
    )
    return ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=expires_ms)
