# compiled: mypyc
"""Metadata (key 3), v0-13: the brokers, the topics and their partitions.

A topic that is missing is created when the request and `auto.create.topics.enable` allow it, and listed at once, where
Apache Kafka answers UNKNOWN_TOPIC_OR_PARTITION first and the client retries. A name that was deleted is answered as in
Kafka, because the client may want to know whether the topic is deleted (docs/differences.md). Otherwise a missing topic
is UNKNOWN_TOPIC_OR_PARTITION, a missing id UNKNOWN_TOPIC_ID, an invalid name INVALID_TOPIC_EXCEPTION. A partition
without a leader is LEADER_NOT_AVAILABLE. Version 0 lists replicas on nodes that run, and returns REPLICA_NOT_AVAILABLE
if there are others; later ones list all.
"""

from asyncio import Future
from collections.abc import Iterable
from functools import partial

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.api.guards.authorized_operations import CLUSTER_OPERATIONS, NOT_REQUESTED, TOPIC_OPERATIONS
from barnabas.broker.metadata.catalogue import NewTopic, TopicImage
from barnabas.broker.metadata.cluster.node_view import NodeView
from barnabas.broker.metadata.image.image import INTERNAL_TOPICS, NO_LEADER, Partition
from barnabas.broker.metadata.image.topic_changes import check_name
from barnabas.broker.metadata.split_changes import CHANGES, in_changes
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.codec.schema import EncodedArray
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.protocol.hot.metadata import SINCE, partitions_of_one_node
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.storage.steps import Pauses, Steps, mapped

_BY_ID_SINCE = 12
SLICE_TOPICS = 1_000
_BYTES_OF_AN_OPERATION = 500
"""Of partitions that are encoded at once: as long as one partition takes otherwise."""
_ALL_TOPICS = WorkClass(steps_max=SLICE_TOPICS, slice_ms=5)
_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
Refusals = dict[str, ErrorCode]


def handle(request: MetadataRequest, context: RequestContext) -> MetadataResponse | Future[MetadataResponse]:
    services = context.services
    requested = request.topics
    if requested is not None and context.api_version < _BY_ID_SINCE and _asks_by_id(requested):
        return _refuse(requested)
    operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_REQUESTED
    if requested is None or (not requested and context.api_version == 0):
        return services.request_scheduler.in_slices(lambda: _describe_all(operations, request, context), _ALL_TOPICS)
    distinct = list({(wanted.topic_id, wanted.name): wanted for wanted in requested}.values())
    return reply_to(
        lambda: _created(_missing(distinct, services), request.allow_auto_topic_creation, context),
        lambda refusals: services.request_scheduler.in_slices(
            lambda: _describe_these(distinct, refusals, operations, request, context), _ALL_TOPICS
        ),
    )


def _describe_all(operations: int, request: MetadataRequest, context: RequestContext) -> Steps[MetadataResponse]:
    """Describe all topics that exist now, each in its later state; without those that are deleted meanwhile."""
    topics, there = [], context.services.catalogue.topics
    for name in list(there):
        topic = there.get(name)
        if topic is not None:
            topics.append(_describe(topic, operations, context))
            yield
    return _response(topics, request, context)


def _describe_these(
    requested: Iterable[MetadataRequestTopic],
    refusals: Refusals,
    operations: int,
    request: MetadataRequest,
    context: RequestContext,
) -> Steps[MetadataResponse]:
    topics: list[MetadataResponseTopic] = []
    pauses = Pauses()
    for wanted in requested:
        topics.append(_find(wanted, refusals, operations, context))
        partitions = topics[-1].partitions
        cheap_bytes = len(partitions.data) if isinstance(partitions, EncodedArray) else 0
        if pauses.is_due(1 + len(partitions) + cheap_bytes // _BYTES_OF_AN_OPERATION):
            yield
    return _response(topics, request, context)


def _response(
    topics: list[MetadataResponseTopic], request: MetadataRequest, context: RequestContext
) -> MetadataResponse:
    cluster, own = context.services.cluster, context.node
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in cluster.nodes(own)
        ],
        cluster_id=own.cluster_id,
        controller_id=cluster.controller_id,
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_REQUESTED
        ),
    )


def _asks_by_id(requested: list[MetadataRequestTopic]) -> bool:
    """Return whether a topic is requested by id: v10 and v11 have the field, but only v12 supports it."""
    return any(wanted.name is None or wanted.topic_id != ZERO_UUID for wanted in requested)


def _refuse(requested: list[MetadataRequestTopic]) -> MetadataResponse:
    refusals = [_absent(wanted.name or "", ErrorCode.INVALID_REQUEST, wanted.topic_id) for wanted in requested]
    return MetadataResponse(brokers=[], topics=refusals)


def _find(
    wanted: MetadataRequestTopic, refusals: Refusals, operations: int, context: RequestContext
) -> MetadataResponseTopic:
    services = context.services
    if wanted.topic_id != ZERO_UUID:
        topic = services.catalogue.topics_by_id.get(wanted.topic_id)
        if topic is None:
            return _absent(None, ErrorCode.UNKNOWN_TOPIC_ID, wanted.topic_id)
        return _describe(topic, operations, context)
    if wanted.name is None:
        return _absent("", ErrorCode.INVALID_REQUEST)
    topic = services.catalogue.topics.get(wanted.name)
    if topic is None or wanted.name in refusals:
        code = refusals.get(wanted.name, _UNKNOWN)
        return _absent(wanted.name, code, operations=operations)
    return _describe(topic, operations, context)


def _missing(requested: Iterable[MetadataRequestTopic], services: Services) -> list[str]:
    """Return the requested names without a topic."""
    there = services.catalogue.topics
    return [
        wanted.name
        for wanted in requested
        if wanted.topic_id == ZERO_UUID and wanted.name is not None and wanted.name not in there
    ]


def _created(names: list[str], may_create: bool, context: RequestContext) -> Reply[Refusals]:
    """Create these topics. Return a code for those that do not exist, or are reported as if they did not."""
    if not names:
        return {}
    services = context.services
    if may_create and services.config.boolean("auto.create.topics.enable"):
        return services.upkeep.to_the_end(lambda: _create_all(names, context), CHANGES)
    return services.request_scheduler.in_slices(lambda: _refuse_all(names))


def _refuse_all(names: Iterable[str]) -> Steps[Refusals]:
    return dict((yield from mapped(_refused, names)))


def _refused(name: str) -> tuple[str, ErrorCode]:
    try:
        check_name(name)
    except KafkaError as refusal:
        return name, refusal.code
    return name, _UNKNOWN


def _create_all(names: Iterable[str], context: RequestContext) -> Steps[Refusals]:
    services = context.services
    as_current_request, partitions = keep_current_request(services), services.config.integer("num.partitions")
    refusals: dict[str, ErrorCode] = {}
    for count, some in enumerate(in_changes(names, lambda _: partitions)):
        if count:
            yield
        refusals |= as_current_request(partial(_create, some, context))
    return refusals


def _create(names: Iterable[str], context: RequestContext) -> Refusals:
    """Create topics in one change and return the refusals."""
    services = context.services
    catalogue = services.catalogue
    refusals: dict[str, ErrorCode] = {}
    wanted = []
    for name in names:
        try:
            check_name(name)
            if name in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
                catalogue.create_internal_topic(name)
            elif name in INTERNAL_TOPICS:
                refusals[name] = _UNKNOWN
            elif name not in catalogue.topics:
                services.disk_space.check_may_grow()
                wanted.append(name)
        except KafkaError as refusal:
            refusals[name] = refusal.code
    deleted = [name for name in wanted if catalogue.was_deleted(name)]
    return refusals | dict.fromkeys(deleted, _UNKNOWN) | _create_new(wanted, context)


def _create_new(names: list[str], context: RequestContext) -> Refusals:
    """Create topics. UNKNOWN_TOPIC_OR_PARTITION if a quota on partitions is exceeded: a later request creates it."""
    services = context.services
    admit = services.quotas.admission_for_metadata(context.measured)
    try:
        results = services.catalogue.create_topics([NewTopic(name, admit=admit) for name in names])
    except KafkaError as failure:
        return dict.fromkeys(names, failure.code)
    refused = {name: it.code for name, it in zip(names, results, strict=True) if isinstance(it, KafkaError)}
    throttled = ErrorCode.THROTTLING_QUOTA_EXCEEDED
    return {name: _UNKNOWN if code is throttled else code for name, code in refused.items()}


def _describe(topic: TopicImage, operations: int, context: RequestContext) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=_describe_partitions(topic, context.services.cluster, context.api_version),
        topic_authorized_operations=operations,
    )


def _describe_partitions(topic: TopicImage, cluster: NodeView, version: int) -> list[MetadataResponsePartition]:
    if version >= SINCE and cluster.is_alone:
        leader_epoch = cluster.leader_epoch
        return partitions_of_one_node(cluster.node_id, [leader_epoch(each) for each in topic.partitions])
    describe = _describe_partition if version else _describe_running
    return [describe(topic.name, number, partition, cluster) for number, partition in enumerate(topic.partitions)]


def _describe_partition(topic: str, number: int, partition: Partition, cluster: NodeView) -> MetadataResponsePartition:
    placement = cluster.placement_of(topic, number)
    replicas, isr, leader = placement
    return MetadataResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader == NO_LEADER else ErrorCode.NONE,
        partition_index=number,
        leader_id=leader,
        leader_epoch=cluster.leader_epoch(partition),
        replica_nodes=list(replicas),
        isr_nodes=list(isr),
        offline_replicas=cluster.offline(placement),
    )


def _describe_running(topic: str, number: int, partition: Partition, cluster: NodeView) -> MetadataResponsePartition:
    """Describe a partition for version 0, which lists only replicas on nodes that run."""
    found = _describe_partition(topic, number, partition, cluster)
    away = set(found.offline_replicas)
    found.replica_nodes = [node for node in found.replica_nodes if node not in away]
    found.isr_nodes = [node for node in found.isr_nodes if node not in away]
    if away and not found.error_code:
        found.error_code = ErrorCode.REPLICA_NOT_AVAILABLE
    return found


def _absent(
    name: str | None, code: ErrorCode, topic_id: bytes = ZERO_UUID, *, operations: int = NOT_REQUESTED
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=code,
        name=name,
        topic_id=topic_id,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
        topic_authorized_operations=operations,
    )
