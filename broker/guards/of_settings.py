"""Guards of APIs about settings and log directories: each resource is checked as what it is."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from barnabas.broker.authorization.rights import Rights, refusal
from barnabas.broker.catalogue.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    LOGGER_RESOURCE,
    TOPIC_RESOURCE,
)
from barnabas.broker.context import RequestContext
from barnabas.broker.guards.guard import Ask, Guard, refused, then, with_fields
from barnabas.broker.replies import Reply
from barnabas.broker.session.operations import CLUSTER_NAME, Operation, Resource
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
    """The operation on each resource in the list. once: one that is named twice is refused for that."""
    return partial(_resources, operation, answered, once)


def _resources(
    operation: Operation,
    answered: str,
    once: bool,
    ask: Ask,
    request: Any,
    context: RequestContext,
    rights: Rights,
) -> Reply[Any]:
    times = Counter((each.resource_type, each.resource_name) for each in request.resources)
    allowed: dict[tuple[Resource, str], bool] = {}
    kept, others = [], []
    for each in request.resources:
        kind = _KINDS.get(each.resource_type)
        if kind is None or (once and times[each.resource_type, each.resource_name] > 1):
            kept.append(each)
            continue
        key = kind, CLUSTER_NAME if kind is Resource.CLUSTER else each.resource_name
        if key not in allowed:
            allowed[key] = rights.allows(operation, *key)
        if allowed[key]:
            kept.append(each)
        else:
            others.append((each, kind))
    if not others:
        return ask(request)
    hidden = [
        answer
        for each, kind in others
        for answer in getattr(refused(with_fields(request, resources=[each]), refusal(kind), context), answered)
    ]
    return then(
        ask(with_fields(request, resources=kept)),
        lambda response: with_fields(response, **{answered: [*getattr(response, answered), *hidden]}),
    )


def alter_user_scram_credentials(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Of a cluster that may be altered: each user is refused once."""
    if rights.allows(Operation.ALTER, Resource.CLUSTER):
        return ask(request)
    why = refusal(Resource.CLUSTER)
    users = dict.fromkeys(each.name for each in (*request.deletions, *request.upsertions))
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=user, error_code=why.code, error_message=why.message) for user in users
        ]
    )


def describe_log_dirs(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Of a cluster that may be described. The oldest versions have no place for the code, and tell of no directory."""
    if rights.allows(Operation.DESCRIBE, Resource.CLUSTER):
        return ask(request)
    return DescribeLogDirsResponse(error_code=refusal(Resource.CLUSTER).code, results=[])
