"""DescribeTopicPartitions (key 75), v0: topics page by page, with a limit on partitions.

Topics are in the order of their names; an empty list means all. `response_partition_limit` (at most the broker's
`max.request.partition.size.limit`) ends a page, and `next_cursor` is where the next one begins. A cursor with a
negative partition, or at a topic that was not requested, is INVALID_REQUEST for every topic. A topic that may not be
described is on no page and in no cursor; one that was requested is TOPIC_AUTHORIZATION_FAILED, whether it exists or
not. In a request for all, a topic that is deleted while the answer is made, in slices, is left out, as if it had been
deleted before.
"""

from asyncio import Future
from bisect import bisect_left

from barnabas.broker.api.guards.authorized_operations import NOT_REQUESTED, TOPIC_OPERATIONS
from barnabas.broker.metadata.catalogue import TopicImage
from barnabas.broker.metadata.cluster.node_view import NodeView
from barnabas.broker.metadata.image.topic_changes import check_name
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.storage.steps import Steps

_TOPICS = WorkClass()


def handle(
    request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse | Future[DescribeTopicPartitionsResponse]:
    return context.services.request_scheduler.in_slices(lambda: _answer(request, context), _TOPICS)


def _answer(request: DescribeTopicPartitionsRequest, context: RequestContext) -> Steps[DescribeTopicPartitionsResponse]:
    services = context.services
    requested = [topic.name for topic in request.topics]
    cursor = request.cursor
    if cursor is not None and (cursor.partition_index < 0 or (requested and cursor.topic_name not in requested)):
        refusals = [_absent(name, ErrorCode.INVALID_REQUEST, NOT_REQUESTED) for name in requested]
        return DescribeTopicPartitionsResponse(topics=refusals)
    names = sorted(set(requested) or services.catalogue.topics)
    if cursor is not None:
        names = names[bisect_left(names, cursor.topic_name) :]
    limit = min(request.response_partition_limit, services.config.integer("max.request.partition.size.limit"))
    return (yield from _page(names, cursor, max(limit, 1), context, are_requested=bool(requested)))


def _page(
    names: list[str], cursor: Cursor | None, limit: int, context: RequestContext, *, are_requested: bool
) -> Steps[DescribeTopicPartitionsResponse]:
    """Return a page. Topics that may not be described do not count; if requested by name, their errors come last."""
    services, rights = context.services, context.rights
    page = DescribeTopicPartitionsResponse(topics=[])
    hidden: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        yield
        if page.next_cursor is not None and (rights is None or not are_requested):
            break
        if rights is not None and not rights.allows(
            Operation.DESCRIBE, Resource.TOPIC, name, quietly=not are_requested
        ):
            if are_requested:
                hidden.append(_absent(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, NOT_REQUESTED))
            continue
        if page.next_cursor is not None:
            continue
        first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        if limit == 0:
            page.next_cursor = Cursor(topic_name=name, partition_index=first)
            continue
        operations = TOPIC_OPERATIONS if rights is None else rights.operations(Resource.TOPIC, name)
        topic = services.catalogue.topics.get(name)
        if topic is None:
            if are_requested:
                page.topics.append(_absent(name, _why_absent(name), operations))
            continue
        described = _describe(topic, first, limit, operations, services)
        page.topics.append(described)
        limit -= len(described.partitions)
        after = first + len(described.partitions)
        if limit == 0 and after < len(topic.partitions):
            page.next_cursor = Cursor(topic_name=name, partition_index=after)
    if rights is not None:
        rights.report_more(Operation.DESCRIBE, Resource.TOPIC)
    page.topics += hidden
    return page


def _describe(
    topic: TopicImage, first: int, limit: int, operations: int, services: Services
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            _describe_partition(topic, number, services.cluster)
            for number in range(first, min(first + limit, len(topic.partitions)))
        ],
        topic_authorized_operations=operations,
    )


def _describe_partition(topic: TopicImage, number: int, cluster: NodeView) -> DescribeTopicPartitionsResponsePartition:
    placement = cluster.placement_of(topic.name, number)
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE,  # also where there is no leader, unlike in Metadata
        partition_index=number,
        leader_id=placement.leader,
        leader_epoch=cluster.leader_epoch(topic.partitions[number]),
        replica_nodes=list(placement.replicas),
        isr_nodes=list(placement.isr),
        eligible_leader_replicas=[],  # empty, never null: Java's admin client cannot read null
        last_known_elr=[],
        offline_replicas=cluster.offline(placement),
    )


def _why_absent(name: str) -> ErrorCode:
    try:
        check_name(name)
    except KafkaError as refusal:
        return refusal.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _absent(name: str, code: ErrorCode, operations: int) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=code, name=name, topic_id=ZERO_UUID, partitions=[], topic_authorized_operations=operations
    )
