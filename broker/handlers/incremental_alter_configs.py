"""IncrementalAlterConfigs (key 44), v0-1: change some settings of topics or of the broker.

Operations: 0 set, 1 delete (back to what is inherited), 2 append to and 3 subtract from a list. A change is durable
and in force when it is answered. Answers per resource: INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION,
INVALID_TOPIC_EXCEPTION. Broker loggers exist in no JVM here, so none can be set; other resources are
INVALID_REQUEST.
"""

from barnabas.broker.catalogue import Alteration
from barnabas.broker.catalogue.image import BROKER_RESOURCE, TOPIC_RESOURCE
from barnabas.broker.config_resources import alter_each
from barnabas.broker.context import RequestContext, Services
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

_LOGGER_RESOURCE = 8


def handle(request: IncrementalAlterConfigsRequest, context: RequestContext) -> IncrementalAlterConfigsResponse:
    altered = alter_each(request.resources, lambda resource: _alter(resource, context.services, request.validate_only))
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(error_code=code, error_message=message, resource_type=kind, resource_name=name)
            for kind, name, code, message in altered
        ]
    )


def _alter(resource: AlterConfigsResource, services: Services, validate_only: bool) -> None:
    kind, name = resource.resource_type, resource.resource_name
    if kind == _LOGGER_RESOURCE:
        _alter_loggers(resource, services.node.node_id)
    elif kind in (TOPIC_RESOURCE, BROKER_RESOURCE):
        alterations = [Alteration(entry.name, entry.config_operation, entry.value) for entry in resource.configs]
        services.catalogue.alter_configs(kind, name, alterations, validate_only=validate_only)
    else:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")


def _alter_loggers(resource: AlterConfigsResource, node_id: int) -> None:
    if resource.resource_name != str(node_id):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected node id. Expected {node_id}, but received {resource.resource_name}",
        )
    for entry in resource.configs:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {entry.name} does not exist!")
