"""CreateAcls (key 30), v1-3: add ACLs. What is there already is answered as if it were new.

All that may be are added in one change, and in force when they are answered. Each has its own code: INVALID_REQUEST
for what cannot be, POLICY_VIOLATION for more than 10,000 at once, SECURITY_DISABLED where there is no authorizer. An
unknown kind of resource, pattern, operation or permission closes the connection, as in Kafka.
"""

from __future__ import annotations

from barnabas.broker.authorization.acl import Acl
from barnabas.broker.catalogue.acl_filters import UNKNOWN
from barnabas.broker.context import RequestContext
from barnabas.broker.refusals import NoSuchRequest
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)


def handle(request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponse:
    acls = [_acl(creation) for creation in request.creations]
    if any(UNKNOWN in (acl.resource_type, acl.pattern_type, acl.operation, acl.permission) for acl in acls):
        raise NoSuchRequest("ACLs with unknown elements")
    access = context.services.access
    if access is None:
        refused = KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
        return _response([refused] * len(acls))
    try:
        return _response(access.acls.create(acls))
    except KafkaError as refusal:
        return _response([refusal.as_value()] * len(acls))


def _acl(creation: AclCreation) -> Acl:
    return Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _response(results: list[KafkaError] | list[KafkaError | None]) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_code=ErrorCode.NONE, error_message=None)
            if refusal is None
            else AclCreationResult(error_code=refusal.code, error_message=refusal.message)
            for refusal in results
        ]
    )
