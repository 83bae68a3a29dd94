"""Guards of APIs about settings and log directories: each resource is checked by its type."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from barnabas.broker.api.guards.guard import Guard, Guarding, refused, with_fields
from barnabas.broker.metadata.image.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    LOGGER_RESOURCE,
    TOPIC_RESOURCE,
)
from barnabas.broker.security.acl.rights import Rights, refusal
from barnabas.broker.security.session.operations import CLUSTER_NAME, Operation, Resource
from barnabas.broker.services import RequestContext
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsResponse

_KINDS = {
    TOPIC_RESOURCE: Resource.TOPIC,
    GROUP_RESOURCE: Resource.GROUP,
    BROKER_RESOURCE: Resource.CLUSTER,
    LOGGER_RESOURCE: Resource.CLUSTER,
    CLIENT_METRICS_RESOURCE: Resource.CLUSTER,
}


def resources(operation: Operation, answered: str, *, once: bool) -> Guard:
    """Check the operation on each resource in the list. once: the handler refuses a resource that is named twice."""
    return partial(_resources, operation, answered, once)


def _resources(
    operation: Operation,
    answered: str,
    once: bool,
    request: Any,
    context: RequestContext,
    rights: Rights,
) -> Guarding:
    times = Counter((each.resource_type, each.resource_name) for each in request.resources)
    names: dict[Resource, dict[str, None]] = {}
    named: list[tuple[Any, tuple[Resource, str] | None]] = []
    for each in request.resources:
        kind = _KINDS.get(each.resource_type)
        if kind is None or (once and times[each.resource_type, each.resource_name] > 1):
            named.append((each, None))
        else:
            name = CLUSTER_NAME if kind is Resource.CLUSTER else each.resource_name
            names.setdefault(kind, {})[name] = None
            named.append((each, (kind, name)))
        yield
    allowed = {}
    for kind, requested in names.items():
        allowed[kind] = yield from rights.each_allowed(operation, kind, requested)
    permitted, hidden = [], []
    for each, key in named:
        if key is None or key[1] in allowed[key[0]]:
            permitted.append(each)
        else:
            answer = yield from refused(with_fields(request, resources=[each]), refusal(key[0]), context)
            hidden += getattr(answer, answered)
        yield
    if not hidden:
        return (yield request)
    response = yield with_fields(request, resources=permitted)
    return with_fields(response, **{answered: [*getattr(response, answered), *hidden]})


def alter_user_scram_credentials(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Alter on the cluster: if it is refused, each user gets the error once."""
    if rights.allows(Operation.ALTER, Resource.CLUSTER):
        return (yield request)
    why = refusal(Resource.CLUSTER)
    users = dict.fromkeys(each.name for each in (*request.deletions, *request.upsertions))
    results = []
    for user in users:
        results.append(AlterUserScramCredentialsResult(user=user, error_code=why.code, error_message=why.message))
        yield
    return AlterUserScramCredentialsResponse(results=results)


def describe_log_dirs(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Describe on the cluster. The oldest versions have no place for the code, and list no directory."""
    if rights.allows(Operation.DESCRIBE, Resource.CLUSTER):
        return (yield request)
    return DescribeLogDirsResponse(error_code=refusal(Resource.CLUSTER).code, results=[])
