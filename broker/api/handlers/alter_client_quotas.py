"""AlterClientQuotas (key 49), v0-1: set or remove quotas of users, client ids and addresses.

All valid changes are applied at once; each entity has its own answer: INVALID_REQUEST with the reason, for the entity,
its keys or their values. POLICY_VIOLATION for more than 10,000 changes, KAFKA_STORAGE_ERROR: for every entity, and
nothing is changed. With validate_only nothing is changed. Versions: 1 flexible.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.metadata.image.client_quotas import Entity, Outcomes, QuotaAlteration
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
    EntityData,
)
from barnabas.storage.steps import Pauses, Steps

_ALTERING = WorkClass(may_begin_again=False)


def handle(
    request: AlterClientQuotasRequest, context: RequestContext
) -> AlterClientQuotasResponse | Future[AlterClientQuotasResponse]:
    return context.services.upkeep.to_the_end(lambda: _altered(request, context), _ALTERING)


def _altered(request: AlterClientQuotasRequest, context: RequestContext) -> Steps[AlterClientQuotasResponse]:
    quotas, pauses = context.services.catalogue.client_quotas, Pauses()
    wishes: list[QuotaAlteration] = []
    for entry in request.entries:
        wishes.append(_wish(entry))
        if pauses.is_due(1 + len(entry.entity) + len(entry.ops)):
            yield
    outcomes: Outcomes
    try:
        outcomes = yield from quotas.alter_in_steps(wishes, validate_only=request.validate_only)
    except KafkaError as refusal:
        outcomes = [(wish.entity, refusal.as_value()) for wish in wishes]
    answers: list[AlterClientQuotasResponseEntryData] = []
    for entity, why in outcomes:
        answers.append(_answer(entity, why))
        if pauses.is_due(1 + len(entity)):
            yield
    return AlterClientQuotasResponse(entries=answers)


def _wish(entry: AlterClientQuotasRequestEntryData) -> QuotaAlteration:
    entity = {part.entity_type: part.entity_name for part in entry.entity}
    return QuotaAlteration(entity, [(op.key, None if op.remove else op.value) for op in entry.ops])


def _answer(entity: Entity, refusal: KafkaError | None) -> AlterClientQuotasResponseEntryData:
    return AlterClientQuotasResponseEntryData(
        error_code=ErrorCode.NONE if refusal is None else refusal.code,
        error_message=None if refusal is None else refusal.message,
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
    )
