"""AlterConfigs (key 33), v0-2: give topics, the broker or groups exactly these settings; others are removed.

For old clients: IncrementalAlterConfigs changes the named settings and nothing else. Answers per resource:
INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION.
"""

from asyncio import Future

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.metadata.catalogue.config_alterations import SettingsWish, check_broker_name
from barnabas.broker.metadata.config_resources.altering import AlterContext, alter_each
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, RESOURCES
from barnabas.broker.metadata.image.topic_changes import duplicates
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def handle(
    request: AlterConfigsRequest, context: RequestContext
) -> AlterConfigsResponse | Future[AlterConfigsResponse]:
    services = context.services
    return reply_to(
        lambda: alter_each(
            request.resources,
            lambda resource: _wish(resource, services.node.node_id),
            AlterConfigsResourceResponse,
            AlterContext(services.catalogue, services.upkeep, keep_current_request(services), request.validate_only),
        ),
        lambda answers: AlterConfigsResponse(responses=answers),
    )


def _wish(resource: AlterConfigsResource, node_id: int) -> SettingsWish:
    if resource.resource_type not in RESOURCES:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
    names = [entry.name for entry in resource.configs]
    if duplicates(names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if resource.resource_type == BROKER_RESOURCE:
        check_broker_name(resource.resource_name, node_id)
    wanted = {entry.name: entry.value for entry in resource.configs}
    return SettingsWish(resource.resource_type, resource.resource_name, wanted)
