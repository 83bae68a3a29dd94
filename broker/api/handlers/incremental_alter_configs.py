"""IncrementalAlterConfigs (key 44), v0-1: change some settings of topics, the broker, its loggers or groups.

Operations: 0 set, 1 delete (back to the inherited value), 2 append to and 3 subtract from a list. A change is durable
and in force when the request is answered; the levels of the broker's loggers are in force until it stops. Answers per
resource: INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION.
"""

from asyncio import Future

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.metadata.catalogue.config_alterations import Alteration, SettingsWish, check_broker_name
from barnabas.broker.metadata.cluster.stopped_nodes import STOPPED_NODES, alter_stopped_nodes
from barnabas.broker.metadata.config_resources.altering import AlterContext, alter_each
from barnabas.broker.metadata.config_resources.loggers import alter_loggers
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, LOGGER_RESOURCE, RESOURCES
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


def handle(
    request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse | Future[IncrementalAlterConfigsResponse]:
    services, validate_only = context.services, request.validate_only
    return reply_to(
        lambda: alter_each(
            request.resources,
            lambda resource: _wish(resource, services, validate_only),
            AlterConfigsResourceResponse,
            AlterContext(services.catalogue, services.upkeep, keep_current_request(services), validate_only),
        ),
        lambda answers: IncrementalAlterConfigsResponse(responses=answers),
    )


def _wish(
    resource: AlterConfigsResource, services: Services, validate_only: bool
) -> SettingsWish | Future[None] | None:
    """Return the change for the catalogue; apply one of other settings, and return None or a future of it."""
    kind, name = resource.resource_type, resource.resource_name
    alterations = [Alteration(entry.name, entry.config_operation, entry.value) for entry in resource.configs]
    if kind == LOGGER_RESOURCE:
        alter_loggers(name, alterations, services.node.node_id, validate_only=validate_only)
    elif kind == BROKER_RESOURCE and any(alteration.name == STOPPED_NODES for alteration in alterations):
        return alter_stopped_nodes(alterations, services.cluster.shared, validate_only=validate_only)
    elif kind in RESOURCES:
        if kind == BROKER_RESOURCE:
            check_broker_name(name, services.node.node_id)
        return SettingsWish(kind, name, alterations)
    else:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")
    return None
