"""ListConfigResources (key 74), v0-1: the resources that settings can be described of (KIP-1142).

Topics and brokers, and the brokers' loggers, are listed whether they have settings or not; groups and client metrics
only with settings. An empty list of types means all; with an unknown one the whole request is refused with
UNSUPPORTED_VERSION. Versions: 1 types; before, client metrics only.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterable

from barnabas.broker.metadata.image.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    LOGGER_RESOURCE,
    TOPIC_RESOURCE,
)
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from barnabas.storage.steps import Steps

_ALL = (GROUP_RESOURCE, CLIENT_METRICS_RESOURCE, LOGGER_RESOURCE, BROKER_RESOURCE, TOPIC_RESOURCE)  # as answered
_BY_TYPE_SINCE = 1
SLICE = 1_000
_RESOURCES = WorkClass(steps_max=SLICE, slice_ms=5)


def handle(
    request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse | Future[ListConfigResourcesResponse]:
    known = _ALL if context.api_version >= _BY_TYPE_SINCE else (CLIENT_METRICS_RESOURCE,)
    requested = set(request.resource_types) or set(known)
    if not requested.issubset(known):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, config_resources=[])
    kinds = [kind for kind in _ALL if kind in requested]
    return context.services.request_scheduler.in_slices(lambda: _list(kinds, context), _RESOURCES)


def _list(kinds: list[int], context: RequestContext) -> Steps[ListConfigResourcesResponse]:
    resources = []
    for kind in kinds:
        for name in _names(kind, context):
            resources.append(ConfigResource(resource_name=name, resource_type=kind))
            yield
    return ListConfigResourcesResponse(error_code=ErrorCode.NONE, config_resources=resources)


def _names(kind: int, context: RequestContext) -> Iterable[str]:
    """Return a copy of the current names, because they may change between two slices."""
    services = context.services
    if kind == TOPIC_RESOURCE:
        return list(services.catalogue.topics)
    if kind in (BROKER_RESOURCE, LOGGER_RESOURCE):
        return [str(node.node_id) for node in services.cluster.nodes(context.node)]
    return services.catalogue.configured(kind)
