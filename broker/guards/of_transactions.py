"""Guards of APIs about transactions and producers."""

from __future__ import annotations

from typing import Any

from barnabas.broker.authorization.rights import Rights, refusal
from barnabas.broker.catalogue.image import INTERNAL_TOPICS
from barnabas.broker.context import RequestContext
from barnabas.broker.guards.guard import Ask, divided, refused, some, then, with_fields
from barnabas.broker.replies import Reply
from barnabas.broker.session.operations import Access, Operation, Resource
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import is_topic_name
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from barnabas.protocol.messages.init_producer_id import InitProducerIdResponse

_TOPIC, _CLUSTER, _ID = Resource.TOPIC, Resource.CLUSTER, Resource.TRANSACTIONAL_ID
_WRITE_ID, _DESCRIBE_ID = Access(Operation.WRITE, _ID), Access(Operation.DESCRIBE, _ID)
_OF_BROKERS_SINCE = 4


def init_producer_id(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """A transactional id that may be written; without one IdempotentWrite, or Write of any topic (KIP-679)."""
    name = request.transactional_id
    if name is not None:
        wanted = [Operation.WRITE, *([Operation.TWO_PHASE_COMMIT] if request.enable2_pc else [])]
        if not all(rights.allows(operation, _ID, name) for operation in wanted):
            return _no_producer(refusal(_ID))
    elif not rights.allows(Operation.IDEMPOTENT_WRITE, _CLUSTER, quietly=True) and not rights.allows_some(
        Operation.WRITE, _TOPIC
    ):
        return _no_producer(refusal(_CLUSTER))
    return ask(request)


def _no_producer(why: KafkaError) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=why.code, producer_id=-1, producer_epoch=-1)


def add_partitions_to_txn(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Brokers ask in versions of their own. Of a client's partitions none is added where some may not be."""
    if context.api_version >= _OF_BROKERS_SINCE:
        if rights.allows(Operation.CLUSTER_ACTION, _CLUSTER):
            return ask(request)
        return refused(request, refusal(_CLUSTER), context)
    if not rights.allows(*_WRITE_ID, request.v3_and_below_transactional_id):
        return refused(request, refusal(_ID), context)
    topics = request.v3_and_below_topics
    writable = rights.allowed(
        Operation.WRITE, _TOPIC, [topic.name for topic in topics if topic.name not in INTERNAL_TOPICS]
    )
    if len(writable) == len({topic.name for topic in topics}):
        return ask(request)
    there = context.services.catalogue.topics

    def code(name: str, partition: int) -> ErrorCode:
        if name not in writable:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        is_there = name in there and 0 <= partition < len(there[name].partitions)
        return ErrorCode.OPERATION_NOT_ATTEMPTED if is_there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    results = [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=each, partition_error_code=code(topic.name, each))
                for each in topic.partitions
            ],
        )
        for topic in topics
    ]
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def write_txn_markers(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """An administrator's, or a broker's."""
    if rights.allows(Operation.ALTER, _CLUSTER, quietly=True) or rights.allows(Operation.CLUSTER_ACTION, _CLUSTER):
        return ask(request)
    return refused(request, refusal(_CLUSTER), context)


def describe_transactions(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Those that may be described, with the topics in them that may be."""

    def shown(response: Any) -> Any:
        names = {topic.topic for state in response.transaction_states for topic in state.topics}
        describable = rights.allowed(Operation.DESCRIBE, _TOPIC, sorted(names))
        return with_fields(
            response,
            transaction_states=[
                with_fields(state, topics=[topic for topic in state.topics if topic.topic in describable])
                for state in response.transaction_states
            ],
        )

    kept, others = divided(request.transactional_ids, str, _DESCRIBE_ID, rights)
    return then(
        some(ask, request, context, "transactional_ids", "transaction_states", kept, others, refusal(_ID)), shown
    )


def list_transactions(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Those that may be described."""

    def shown(response: Any) -> Any:
        kept, _ = divided(response.transaction_states, lambda state: state.transactional_id, _DESCRIBE_ID, rights)
        return with_fields(response, transaction_states=kept)

    return then(ask(request), shown)


def describe_producers(ask: Ask, request: Any, context: RequestContext, rights: Rights) -> Reply[Any]:
    """Of topics that may be read; a name that no topic can have is refused for that."""
    kept, others = divided(
        request.topics,
        lambda topic: topic.name if is_topic_name(topic.name) else None,
        Access(Operation.READ, _TOPIC),
        rights,
    )
    return some(ask, request, context, "topics", "topics", kept, others, refusal(_TOPIC))
