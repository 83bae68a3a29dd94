"""Guards of APIs about transactions and producers."""

from __future__ import annotations

from typing import Any

from barnabas.broker.api.guards.guard import Guarding, divided, refused, some, with_fields
from barnabas.broker.metadata.image.image import INTERNAL_TOPICS
from barnabas.broker.security.acl.rights import Rights, refusal
from barnabas.broker.security.session.operations import Access, Operation, Resource
from barnabas.broker.services import RequestContext
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


def init_producer_id(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Write on the transactional id; without one IdempotentWrite, or Write on any topic (KIP-679)."""
    name = request.transactional_id
    if name is not None:
        wanted = [Operation.WRITE, *([Operation.TWO_PHASE_COMMIT] if request.enable2_pc else [])]
        if not all(rights.allows(operation, _ID, name) for operation in wanted):
            return _no_producer(refusal(_ID))
    elif not rights.allows(Operation.IDEMPOTENT_WRITE, _CLUSTER, quietly=True) and not rights.allows_some(
        Operation.WRITE, _TOPIC
    ):
        return _no_producer(refusal(_CLUSTER))
    return (yield request)


def _no_producer(why: KafkaError) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=why.code, producer_id=-1, producer_epoch=-1)


def add_partitions_to_txn(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check ClusterAction for brokers' versions, else Write. If a topic is refused, no partition is added."""
    if context.api_version >= _OF_BROKERS_SINCE:
        if rights.allows(Operation.CLUSTER_ACTION, _CLUSTER):
            return (yield request)
        return (yield from refused(request, refusal(_CLUSTER), context))
    if not rights.allows(*_WRITE_ID, request.v3_and_below_transactional_id):
        return (yield from refused(request, refusal(_ID), context))
    topics = request.v3_and_below_topics
    names = [topic.name for topic in topics if topic.name not in INTERNAL_TOPICS]
    writable = yield from rights.each_allowed(Operation.WRITE, _TOPIC, names)
    if len(writable) == len({topic.name for topic in topics}):
        return (yield request)
    there = context.services.catalogue.topics

    def code(name: str, partition: int) -> ErrorCode:
        if name not in writable:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        is_there = name in there and 0 <= partition < len(there[name].partitions)
        return ErrorCode.OPERATION_NOT_ATTEMPTED if is_there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    results = []
    for topic in topics:
        partitions = []
        for each in topic.partitions:
            yield
            found = code(topic.name, each)
            partitions.append(AddPartitionsToTxnPartitionResult(partition_index=each, partition_error_code=found))
        results.append(AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=partitions))
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def write_txn_markers(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Alter, for an administrator, or ClusterAction, for a broker."""
    if rights.allows(Operation.ALTER, _CLUSTER, quietly=True) or rights.allows(Operation.CLUSTER_ACTION, _CLUSTER):
        return (yield request)
    return (yield from refused(request, refusal(_CLUSTER), context))


def describe_transactions(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Describe on the transactional ids, and show only topics with Describe."""
    permitted, others = yield from divided(request.transactional_ids, str, _DESCRIBE_ID, rights)
    field, answered = "transactional_ids", "transaction_states"
    response = yield from some(request, context, field, answered, permitted, others, refusal(_ID))
    names = {topic.topic for state in response.transaction_states for topic in state.topics}
    describable = yield from rights.each_allowed(Operation.DESCRIBE, _TOPIC, sorted(names))
    states = []
    for state in response.transaction_states:
        states.append(with_fields(state, topics=[topic for topic in state.topics if topic.topic in describable]))
        yield
    return with_fields(response, transaction_states=states)


def list_transactions(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """List only transactional ids with Describe."""
    response = yield request
    states = response.transaction_states
    permitted, _ = yield from divided(states, lambda state: state.transactional_id, _DESCRIBE_ID, rights)
    return with_fields(response, transaction_states=permitted)


def describe_producers(request: Any, context: RequestContext, rights: Rights) -> Guarding:
    """Check Read on the topics; the handler refuses an invalid topic name."""
    permitted, others = yield from divided(
        request.topics,
        lambda topic: topic.name if is_topic_name(topic.name) else None,
        Access(Operation.READ, _TOPIC),
        rights,
    )
    return (yield from some(request, context, "topics", "topics", permitted, others, refusal(_TOPIC)))
