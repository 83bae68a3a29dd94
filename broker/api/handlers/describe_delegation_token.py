"""DescribeDelegationToken (key 41), v1-3: the delegation tokens of some owners, or of all, that the client may see.

Each user sees the tokens that it may renew; other users need Describe on the DelegationToken, or DescribeTokens on the
User who owns it. An empty list of owners selects no token. A client that sees a token gets its HMAC, as in Kafka.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.api.guards.delegation_token_checks import check_asker, existing, session_of
from barnabas.broker.metadata.delegation_tokens.token import DelegationToken
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.security.acl.rights import Rights
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.security.session.principal import Principal
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from barnabas.storage.steps import Steps

_LOOK_UP = WorkClass(steps_max=1_000, slice_ms=5)
_REQUESTER_SINCE = 3


def handle(
    request: DescribeDelegationTokenRequest, context: RequestContext
) -> DescribeDelegationTokenResponse | Future[DescribeDelegationTokenResponse]:
    try:
        check_asker(session_of(context.connection))
        tokens = existing(context.services.tokens)
    except KafkaError as refusal:
        return DescribeDelegationTokenResponse(error_code=refusal.code, tokens=[])
    principal, rights = context.principal, context.rights

    def described() -> Steps[DescribeDelegationTokenResponse]:
        response = DescribeDelegationTokenResponse(error_code=ErrorCode.NONE, tokens=[])
        if request.owners == []:
            return response
        owners = None
        if request.owners is not None:
            owners = set()
            for each in request.owners:
                owners.add(Principal(each.principal_type, each.principal_name))
                yield
        for token in tokens.all:
            is_wanted = owners is None or not owners.isdisjoint((token.owner, *token.renewers))
            if is_wanted and _may_see(token, principal, rights):
                response.tokens.append(_described(token, tokens.hmac_of(token), context.api_version))
            yield
        return response

    return context.services.request_scheduler.in_slices(described, _LOOK_UP)


def _may_see(token: DelegationToken, principal: Principal, rights: Rights | None) -> bool:
    return (
        rights is None
        or token.is_of(principal)
        or rights.allows(Operation.DESCRIBE, Resource.DELEGATION_TOKEN, token.token_id)
        or rights.allows(Operation.DESCRIBE_TOKENS, Resource.USER, str(token.owner))
    )


def _described(token: DelegationToken, hmac: bytes, version: int) -> DescribedDelegationToken:
    described = DescribedDelegationToken(
        principal_type=token.owner.kind,
        principal_name=token.owner.name,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=hmac,
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=each.kind, principal_name=each.name)
            for each in token.renewers
        ],
    )
    if version >= _REQUESTER_SINCE:
        described.token_requester_principal_type, described.token_requester_principal_name = token.requester
    return described
