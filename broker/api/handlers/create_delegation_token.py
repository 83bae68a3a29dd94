"""CreateDelegationToken (key 38), v1-3: make a delegation token for the requester, or from v3 on for another owner.

For another owner CreateTokens is needed on that User. The checks are in Kafka's order; a refusal before the tokens are
used has -1 for its times, a refusal by them has 0.
"""

from __future__ import annotations

from barnabas.broker.api.guards.delegation_token_checks import check_asker, existing, session_of
from barnabas.broker.metadata.delegation_tokens.tokens import RENEWERS_MAX
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.security.session.principal import ANONYMOUS, USER, Principal
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)

_NEVER, _NO_ID = -1, ""
_REQUESTER_SINCE = 3


def handle(request: CreateDelegationTokenRequest, context: RequestContext) -> CreateDelegationTokenResponse:
    requester = owner = context.principal
    if request.owner_principal_name:
        if request.owner_principal_type is None:  # Kafka does not expect this
            return _response(ANONYMOUS, ANONYMOUS, context, ErrorCode.UNKNOWN_SERVER_ERROR, _NEVER)
        owner = Principal(request.owner_principal_type, request.owner_principal_name)
    time_ms = _NEVER
    try:
        check_asker(session_of(context.connection))
        if not _may_ask_for(owner, context):
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
        requested = request.renewers[: RENEWERS_MAX + 1]  # more are refused
        if any(each.principal_type != USER for each in requested):
            raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE)
        time_ms = 0
        tokens = existing(context.services.tokens)
        renewers = [Principal(each.principal_type, each.principal_name) for each in requested]
        token = tokens.create(owner, requester, renewers, request.max_lifetime_ms)
    except KafkaError as refusal:
        return _response(owner, requester, context, refusal.code, time_ms)
    response = _response(owner, requester, context, ErrorCode.NONE, token.issued_ms)
    response.expiry_timestamp_ms, response.max_timestamp_ms = token.expires_ms, token.max_ms
    response.token_id, response.hmac = token.token_id, tokens.hmac_of(token)
    return response


def _may_ask_for(owner: Principal, context: RequestContext) -> bool:
    rights = context.rights
    if rights is None or owner == context.principal:
        return True
    return rights.allows(Operation.CREATE_TOKENS, Resource.USER, str(owner))


def _response(
    owner: Principal, requester: Principal, context: RequestContext, code: ErrorCode, time_ms: int
) -> CreateDelegationTokenResponse:
    response = CreateDelegationTokenResponse(
        error_code=code,
        principal_type=owner.kind,
        principal_name=owner.name,
        issue_timestamp_ms=time_ms,
        expiry_timestamp_ms=time_ms,
        max_timestamp_ms=time_ms,
        token_id=_NO_ID,
        hmac=b"",
    )
    if context.api_version >= _REQUESTER_SINCE:
        response.token_requester_principal_type, response.token_requester_principal_name = requester
    return response
