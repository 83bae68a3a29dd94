"""RenewDelegationToken (key 39), v1-2: renew a delegation token, by its HMAC.

For its owner and its renewers.
"""

from __future__ import annotations

from barnabas.broker.api.guards.delegation_token_checks import changed
from barnabas.broker.services import RequestContext
from barnabas.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


def handle(request: RenewDelegationTokenRequest, context: RequestContext) -> RenewDelegationTokenResponse:
    code, expires_ms = changed(
        context.connection,
        context.services.tokens,
        lambda tokens: tokens.renew(context.principal, request.hmac, request.renew_period_ms),
    )
    return RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=expires_ms)
