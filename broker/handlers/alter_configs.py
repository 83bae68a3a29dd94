"""AlterConfigs (key 33), v0-2: give topics or the broker exactly these settings; what is not named is taken back.

Kept for old clients: IncrementalAlterConfigs changes what it names and nothing else. Answers per resource:
INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION.
"""

from broker.catalogue.image import BROKER_RESOURCE, TOPIC_RESOURCE
from broker.catalogue.topics import duplicates
from broker.context import RequestContext, Services
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def handle(request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    twice = duplicates((resource.resource_type, resource.resource_name) for resource in request.resources)
    answers = []
    for resource in request.resources:
        try:
            if (resource.resource_type, resource.resource_name) in twice:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            _replace(resource, context.services, request.validate_only)
        except KafkaError as refusal:
            answers.append(_answer(resource, refusal.code, refusal.message))
        else:
            answers.append(_answer(resource, ErrorCode.NONE, None))
    return AlterConfigsResponse(responses=answers)


def _replace(resource: AlterConfigsResource, services: Services, validate_only: bool) -> None:
    if resource.resource_type not in (TOPIC_RESOURCE, BROKER_RESOURCE):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
    names = [entry.name for entry in resource.configs]
    if duplicates(names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    services.catalogue.replace_configs(
        resource.resource_type,
        resource.resource_name,
        {entry.name: entry.value for entry in resource.configs},
        validate_only=validate_only,
    )


def _answer(resource: AlterConfigsResource, code: ErrorCode, message: str | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
