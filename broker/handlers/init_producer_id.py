"""InitProducerId (key 22), v0-5: an id for an idempotent producer.

Without a transactional id every request gets a fresh id with epoch 0, whatever id and epoch it held so far, as in
Kafka. An id without an epoch, or the other way round, is INVALID_REQUEST. A transactional id is refused until
transactions exist, with TRANSACTIONAL_ID_AUTHORIZATION_FAILED: the one code that every stock client takes for final
at once. Versions: 3 the id and epoch held so far.
"""

from broker.context import RequestContext
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_NONE = -1


def handle(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE) or request.transactional_id == "":
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return _refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    try:
        producer_id = context.services.producer_ids.next()
    except KafkaError as refusal:
        return _refused(refusal.code)
    return InitProducerIdResponse(error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=_NONE)
