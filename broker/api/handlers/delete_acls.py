"""DeleteAcls (key 31), v1-3: remove the ACLs that match filters, and return them.

All are removed in one change, and not in force any more when the request is answered. Each filter has its own code:
INVALID_REQUEST for a number that is not used yet, POLICY_VIOLATION for more than 10,000 ACLs at once, SECURITY_DISABLED
where there is no authorizer. An unknown type of resource, pattern, operation or permission closes the connection, as in
Kafka.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.metadata.access.acl_filters import requested_filter, why_no_filter
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.security.acl.acl import Acl
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from barnabas.storage.steps import Steps

_DELETION = WorkClass(steps_max=5_000, slice_ms=5, may_begin_again=False)


def handle(request: DeleteAclsRequest, context: RequestContext) -> DeleteAclsResponse | Future[DeleteAclsResponse]:
    filters = [requested_filter(each) for each in request.filters]
    access = context.services.access
    if access is None:
        refused = KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
        return DeleteAclsResponse(filter_results=[_result(refused)] * len(filters))

    def deleted() -> Steps[DeleteAclsResponse]:
        refusals = [why_no_filter(each) for each in filters]
        usable = [each for each, why in zip(filters, refusals, strict=True) if why is None]
        try:
            found = iter((yield from access.acls.delete(usable)))
        except KafkaError as refusal:
            return DeleteAclsResponse(filter_results=[_result(why or refusal) for why in refusals])
        return DeleteAclsResponse(filter_results=[_result(why or next(found)) for why in refusals])

    return context.services.upkeep.to_the_end(deleted, _DELETION)


def _result(outcome: KafkaError | list[Acl]) -> DeleteAclsFilterResult:
    if isinstance(outcome, KafkaError):
        return DeleteAclsFilterResult(error_code=outcome.code, error_message=outcome.message, matching_acls=[])
    return DeleteAclsFilterResult(
        error_code=ErrorCode.NONE,
        error_message=None,
        matching_acls=[
            DeleteAclsMatchingAcl(error_code=ErrorCode.NONE, error_message=None, **acl.named()) for acl in outcome
        ],
    )
