# compiled: mypyc
"""EndTxn (key 26), v0-5: commit or abort a transaction.

Answered as soon as the decision is in `__transaction_state` (and on disk, where flushing is on): from then on no crash
can change it. The markers are written after the answer, before another request is served. Answers
CONCURRENT_TRANSACTIONS while the markers of this or an earlier end are being written, INVALID_TXN_STATE,
PRODUCER_FENCED (before v2: INVALID_PRODUCER_EPOCH), INVALID_PRODUCER_ID_MAPPING. The decision is in
coordinator/transaction/decisions/ending. Versions: 5 every end raises the epoch, and the answer has the producer id and
epoch to continue with.
"""

from __future__ import annotations

from asyncio import Future
from typing import Final

from barnabas.broker.coordinator.transaction.decisions.error_codes import code_in_version
from barnabas.broker.coordinator.transaction.decisions.model import EPOCH_BUMP_VERSION, EndReply, EndRequest
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

_EPOCH_BUMP_SINCE = 5
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


def handle(request: EndTxnRequest, context: RequestContext) -> EndTxnResponse | Future[EndTxnResponse]:
    version = EPOCH_BUMP_VERSION if context.api_version >= _EPOCH_BUMP_SINCE else 0
    fields = request.transactional_id, request.producer_id, request.producer_epoch, request.committed, version
    requested = _new_tuple(EndRequest, fields)
    return reply_to(
        lambda: context.services.transactions.end_transaction(requested),
        lambda reply: _response(reply, context),
        lambda refusal: _response(EndReply(refusal.code), context),
    )


def _response(reply: EndReply, context: RequestContext) -> EndTxnResponse:
    return EndTxnResponse(
        error_code=code_in_version(reply.error, context.api_key, context.api_version),
        producer_id=reply.producer_id,
        producer_epoch=reply.producer_epoch,
    )
