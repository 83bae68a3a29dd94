"""AlterConfigs (key 33), v0-2: give topics, the broker or groups exactly these settings; others are taken back.

Kept for old clients: IncrementalAlterConfigs changes what it names and nothing else. Answers per resource:
INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION.
"""

from barnabas.broker.catalogue.alterations import check_broker_name
from barnabas.broker.catalogue.image import BROKER_RESOURCE, RESOURCES
from barnabas.broker.catalogue.topics import duplicates
from barnabas.broker.config_resources.altering import alter_each
from barnabas.broker.context import RequestContext, Services
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def handle(request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    altered = alter_each(
        request.resources, lambda resource: _replace(resource, context.services, request.validate_only)
    )
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(error_code=code, error_message=message, resource_type=kind, resource_name=name)
            for kind, name, code, message in altered
        ]
    )


def _replace(resource: AlterConfigsResource, services: Services, validate_only: bool) -> None:
    if resource.resource_type not in RESOURCES:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
    names = [entry.name for entry in resource.configs]
    if duplicates(names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if resource.resource_type == BROKER_RESOURCE:
        check_broker_name(resource.resource_name, services.node.node_id)
    services.catalogue.replace_configs(
        resource.resource_type,
        resource.resource_name,
        {entry.name: entry.value for entry in resource.configs},
        validate_only=validate_only,
    )
