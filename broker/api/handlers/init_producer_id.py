"""InitProducerId (key 22), v0-5, and v6 where two-phase commits are enabled: the producer id and epoch of a producer.

Without a transactional id every request gets a fresh id with epoch 0, whatever id and epoch the producer had so far, as
in Kafka. With one, the coordinator returns the producer id and an epoch above all before it; an open transaction is
aborted first, and the producer retries (CONCURRENT_TRANSACTIONS). An id without an epoch, or an epoch without an id, is
INVALID_REQUEST; other answers: INVALID_TRANSACTION_TIMEOUT, PRODUCER_FENCED (before v4: INVALID_PRODUCER_EPOCH). The
decision is in coordinator/transaction/decisions/initialising. Versions: 3 the id and epoch so far (KIP-360); 6 a
prepared transaction may be retained (KIP-939).
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.coordinator.transaction.decisions.error_codes import code_in_version
from barnabas.broker.coordinator.transaction.decisions.model import InitReply, InitRequest
from barnabas.broker.runtime.events.kinds import PRODUCER_ID_GIVEN
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_NONE = -1
_ALONE = {
    "transactional_id": None,
    "producer_epoch": 0,
    "previous_producer_id": _NONE,
    "previous_producer_epoch": _NONE,
    "timeout_ms": None,
}
"""The event's values for a producer without a transactional id."""


def handle(
    request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse | Future[InitProducerIdResponse]:
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return _response(InitReply(ErrorCode.INVALID_REQUEST), context)
    return reply_to(
        lambda: _reply(request, context),
        lambda reply: _response(reply, context),
        lambda refusal: _response(InitReply(refusal.code), context),
    )


def _reply(request: InitProducerIdRequest, context: RequestContext) -> InitReply | Future[InitReply]:
    if request.transactional_id is None:
        producer_id = context.services.producer_ids.next()
        if context.services.events.is_on:
            context.services.events.emit(PRODUCER_ID_GIVEN, {**_ALONE, "producer_id": producer_id})
        return InitReply(ErrorCode.NONE, producer_id, 0)
    requested = InitRequest(
        request.transactional_id,
        request.transaction_timeout_ms,
        request.producer_id,
        request.producer_epoch,
        enable_2pc=request.enable2_pc,
        keep_prepared=request.keep_prepared_txn,
    )
    return context.services.transactions.init_producer_id(requested)


def _response(reply: InitReply, context: RequestContext) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=code_in_version(reply.error, context.api_key, context.api_version),
        producer_id=reply.producer_id,
        producer_epoch=reply.producer_epoch,
        ongoing_txn_producer_id=reply.ongoing_producer_id,
        ongoing_txn_producer_epoch=reply.ongoing_producer_epoch,
    )
