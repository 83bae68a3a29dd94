# compiled: mypyc
"""AddOffsetsToTxn (key 25), v0-4: a transaction is going to commit offsets of a group.

Adds the group's partition of `__consumer_offsets`, as AddPartitionsToTxn would, whether or not that topic exists yet.
Answers CONCURRENT_TRANSACTIONS, PRODUCER_FENCED (before v2: INVALID_PRODUCER_EPOCH), INVALID_PRODUCER_ID_MAPPING. The
decision is in coordinator/transaction/decisions/adding. Clients of TV2 do not send this request.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.broker.coordinator.transaction.decisions.error_codes import code_in_version
from barnabas.broker.coordinator.transaction.decisions.model import AddRequest
from barnabas.broker.coordinator.transaction.partition_additions import add_for_client
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

_CLIENT_TRANSACTION_VERSION = 0


def handle(
    request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponse | Future[AddOffsetsToTxnResponse]:
    requested = AddRequest(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        frozenset({(CONSUMER_OFFSETS_TOPIC, _partition_of(request.group_id, context.services))}),
        _CLIENT_TRANSACTION_VERSION,
    )
    return reply_to(
        lambda: add_for_client(context.services.transactions, requested),
        lambda code: _response(code, context),
        lambda refusal: _response(refusal.code, context),
    )


def _partition_of(group_id: str, services: Services) -> int:
    topic = services.catalogue.topics.get(CONSUMER_OFFSETS_TOPIC)
    configured = services.config.integer("offsets.topic.num.partitions")
    return partition_for(group_id, configured if topic is None else len(topic.partitions))


def _response(code: ErrorCode, context: RequestContext) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=code_in_version(code, context.api_key, context.api_version))
