"""DescribeClientQuotas (key 48), v0-1: the quotas that are set for users, client ids and addresses.

A filter names types of entities, with a name each, the default, or any; strict leaves out entities with other parts.
Errors are at the top: INVALID_REQUEST for an invalid filter, UNSUPPORTED_VERSION for an unknown type. Versions: 1
flexible.
"""

from barnabas.broker.metadata.image.client_quotas import matching
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)


def handle(request: DescribeClientQuotasRequest, context: RequestContext) -> DescribeClientQuotasResponse:
    components = [(each.entity_type, each.match_type, each.match) for each in request.components]
    try:
        found = list(matching(components, request.strict, context.services.catalogue.client_quotas.entities))
    except KafkaError as refusal:
        return DescribeClientQuotasResponse(error_code=refusal.code, error_message=refusal.message, entries=None)
    entries = [
        EntryData(
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[ValueData(key=key, value=value) for key, value in values.items()],
        )
        for entity, values in found
    ]
    return DescribeClientQuotasResponse(error_code=ErrorCode.NONE, error_message=None, entries=entries)
