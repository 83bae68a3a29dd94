"""AlterClientQuotas (key 49), v0-1: how much users, client ids and addresses may use.

All that may be changed is changed at once; each entity is answered: INVALID_REQUEST says what is wrong with it, its
keys or their values. POLICY_VIOLATION for more than 10,000 changes, KAFKA_STORAGE_ERROR: for every entity, and nothing
is changed. With validate_only nothing is. Versions: 1 flexible.
"""

from barnabas.broker.catalogue.client_quotas import Entity, Outcomes, QuotaAlteration
from barnabas.broker.context import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
    EntityData,
)


def handle(request: AlterClientQuotasRequest, context: RequestContext) -> AlterClientQuotasResponse:
    wishes = [_wish(entry) for entry in request.entries]
    outcomes: Outcomes
    try:
        outcomes = context.services.catalogue.client_quotas.alter(wishes, validate_only=request.validate_only)
    except KafkaError as refusal:
        outcomes = [(wish.entity, refusal.as_value()) for wish in wishes]
    return AlterClientQuotasResponse(entries=[_answer(entity, refusal) for entity, refusal in outcomes])


def _wish(entry: AlterClientQuotasRequestEntryData) -> QuotaAlteration:
    entity = {part.entity_type: part.entity_name for part in entry.entity}
    return QuotaAlteration(entity, [(op.key, None if op.remove else op.value) for op in entry.ops])


def _answer(entity: Entity, refusal: KafkaError | None) -> AlterClientQuotasResponseEntryData:
    return AlterClientQuotasResponseEntryData(
        error_code=ErrorCode.NONE if refusal is None else refusal.code,
        error_message=None if refusal is None else refusal.message,
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
    )
