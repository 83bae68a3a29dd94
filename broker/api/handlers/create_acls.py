"""CreateAcls (key 30), v1-3: add ACLs. An ACL that exists already is answered as if it were new.

All valid ones are added in one change, and in force when the request is answered. Each has its own code:
INVALID_REQUEST for an invalid one, POLICY_VIOLATION for more than 10,000 at once, SECURITY_DISABLED where there is no
authorizer. An unknown type of resource, pattern, operation or permission closes the connection, as in Kafka.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Sequence

from barnabas.broker.metadata.access.acl_filters import UNKNOWN
from barnabas.broker.runtime.refusals import NoSuchRequest
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.security.acl.acl import Acl
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from barnabas.storage.steps import Steps, mapped

_CREATION = WorkClass(may_begin_again=False)


def handle(request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponse | Future[CreateAclsResponse]:
    return context.services.upkeep.to_the_end(lambda: _created(request, context), _CREATION)


def _created(request: CreateAclsRequest, context: RequestContext) -> Steps[CreateAclsResponse]:
    acls = yield from mapped(_acl, request.creations)
    access = context.services.access
    results: Sequence[KafkaError | None]
    if access is None:
        results = [KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")] * len(acls)
    else:
        try:
            results = yield from access.acls.create_in_steps(acls)
        except KafkaError as refusal:
            results = [refusal.as_value()] * len(acls)
    return CreateAclsResponse(results=(yield from mapped(_result, results)))


def _acl(creation: AclCreation) -> Acl:
    acl = Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )
    if UNKNOWN in (acl.resource_type, acl.pattern_type, acl.operation, acl.permission):
        raise NoSuchRequest("ACLs with unknown elements")
    return acl


def _result(why: KafkaError | None) -> AclCreationResult:
    if why is None:
        return AclCreationResult(error_code=ErrorCode.NONE, error_message=None)
    return AclCreationResult(error_code=why.code, error_message=why.message)
