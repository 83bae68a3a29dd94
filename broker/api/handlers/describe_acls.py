"""DescribeAcls (key 29), v1-3: the ACLs that match a filter, grouped by resource pattern.

SECURITY_DISABLED where there is no authorizer. An unknown type of resource, pattern, operation or permission closes the
connection, as in Kafka; one with a number that is not used yet finds nothing.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.metadata.access.acl_filters import requested_filter
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from barnabas.storage.steps import Steps

_LOOK_UP = WorkClass(steps_max=5_000, slice_ms=5)


def handle(
    request: DescribeAclsRequest, context: RequestContext
) -> DescribeAclsResponse | Future[DescribeAclsResponse]:
    wanted = requested_filter(request)
    access = context.services.access
    if access is None:
        raise KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")

    def described() -> Steps[DescribeAclsResponse]:
        resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
        for acl in (yield from access.acls.find(wanted)):
            kind, name, pattern_type, principal, host, operation, permission = acl
            resource = resources.get((kind, name, pattern_type))
            if resource is None:
                resource = DescribeAclsResource(
                    resource_type=kind, resource_name=name, pattern_type=pattern_type, acls=[]
                )
                resources[kind, name, pattern_type] = resource
            resource.acls.append(
                AclDescription(principal=principal, host=host, operation=operation, permission_type=permission)
            )
            yield
        return DescribeAclsResponse(error_code=ErrorCode.NONE, error_message=None, resources=list(resources.values()))

    return context.services.request_scheduler.in_slices(described, _LOOK_UP)
