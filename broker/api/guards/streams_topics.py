"""The topics of streams applications in heartbeats (KIP-1071): the topology in a request, and its internal topics.

The coordinator decides which internal topics a topology lacks. They are created here, in the name of the client whose
heartbeat showed it, with that client's rights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.coordinator.group.decisions.streams.topics.internal_topics import InternalTopic
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import StreamsTopology, topology_of
from barnabas.broker.metadata.image.image import INTERNAL_TOPICS
from barnabas.broker.metadata.image.topic_changes import NewTopic, check_request_size
from barnabas.broker.metadata.split_changes import CHANGES, in_changes
from barnabas.broker.runtime.replies import Reply
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import is_topic_name
from barnabas.protocol.log_records import streams_group as log
from barnabas.protocol.messages.streams_group_heartbeat import Subtopology, TopicInfo, Topology
from barnabas.storage.steps import Pauses, Steps, mapped

_SHOWN_MAX = 3
_AT_ONCE = 10  # names; a guard does some hundred steps in its first turn


def topic_names(topology: Topology) -> Steps[list[str]]:
    """Return the names of all topics of a topology, each once. In steps, short enough for a guard."""
    found: dict[str, None] = {}
    pauses = Pauses(_AT_ONCE)
    for each in topology.subtopologies:
        if pauses.is_due():
            yield
        for name in _names_in(each):
            found[name] = None
            if pauses.is_due():
                yield
    return list(found)


def _names_in(subtopology: Subtopology) -> Iterator[str]:
    yield from subtopology.source_topics
    yield from subtopology.repartition_sink_topics
    for topic in subtopology.repartition_source_topics:
        yield topic.name
    for topic in subtopology.state_changelog_topics:
        yield topic.name


def check_names(names: Sequence[str]) -> Steps[None]:
    """Raise STREAMS_INVALID_TOPOLOGY for names that are Kafka's own or invalid. In steps, as above."""
    prohibited = ",".join(name for name in names if name in INTERNAL_TOPICS)
    if prohibited:
        why = f"Use of Kafka internal topics {prohibited} in a Kafka Streams topology is prohibited."
        raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, why)
    are_valid = yield from mapped(is_topic_name, names, _AT_ONCE)
    if not all(are_valid):
        invalid = [name for name, is_valid in zip(names, are_valid, strict=True) if not is_valid]
        why = f"Topic names {','.join(invalid)} are not valid topic names."
        raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, why)


def topology_in(topology: Topology) -> Steps[StreamsTopology]:
    """Return the topology of a request, in steps.

    STREAMS_INVALID_TOPOLOGY for its names, and INVALID_REQUEST for regular expressions, which Kafka does not support
    yet.
    """
    yield from check_names((yield from topic_names(topology)))
    if any(each.source_topic_regex for each in topology.subtopologies):
        why = "Regular expressions for source topics are not supported yet."
        raise KafkaError(ErrorCode.INVALID_REQUEST, why)
    subtopologies = []
    pauses = Pauses()
    for each in topology.subtopologies:
        subtopologies.append((yield from _subtopology(each, pauses)))
    return (yield from topology_of(log.StreamsGroupTopologyValue(epoch=topology.epoch, subtopologies=subtopologies)))


def _subtopology(declared: Subtopology, pauses: Pauses) -> Steps[log.StoredSubtopology]:
    if pauses.is_due(1 + len(declared.copartition_groups)):
        yield
    changelogs = yield from _topics(declared.state_changelog_topics, pauses)
    repartitions = yield from _topics(declared.repartition_source_topics, pauses)
    return log.StoredSubtopology(
        subtopology_id=declared.subtopology_id,
        source_topics=declared.source_topics,
        source_topic_regex=[],
        state_changelog_topics=changelogs,
        repartition_sink_topics=declared.repartition_sink_topics,
        repartition_source_topics=repartitions,
        copartition_groups=[
            log.StoredCopartitionGroup(
                source_topics=each.source_topics,
                source_topic_regex=each.source_topic_regex,
                repartition_source_topics=each.repartition_source_topics,
            )
            for each in declared.copartition_groups
        ],
    )


def _topics(declared: Sequence[TopicInfo], pauses: Pauses) -> Steps[list[log.StoredTopicInfo]]:
    topics = []
    for each in declared:
        topics.append(_topic(each))
        if pauses.is_due(1 + len(each.topic_configs)):
            yield
    return topics


def _topic(declared: TopicInfo) -> log.StoredTopicInfo:
    configs = [log.StoredTopicConfig(key=each.key, value=each.value) for each in declared.topic_configs]
    return log.StoredTopicInfo(
        name=declared.name,
        partitions=declared.partitions,
        replication_factor=declared.replication_factor,
        topic_configs=configs,
    )


def created(missing: Sequence[InternalTopic], context: RequestContext) -> Reply[str]:
    """Create internal topics in slices; return what to add to the group's status: nothing, or why it failed."""
    return context.services.upkeep.to_the_end(partial(_created, missing, context), CHANGES)


def _created(missing: Sequence[InternalTopic], context: RequestContext) -> Steps[str]:
    refused = yield from _unauthorized(missing, context)
    if refused:
        return f"; Unauthorized to CREATE on topics {', '.join(refused)}."
    as_current_request = keep_current_request(context.services)
    failures: list[str] = []
    for number, some in enumerate(in_changes(missing, lambda topic: topic.partitions)):
        if number:
            yield
        failures += as_current_request(partial(_change, some, context))
    if not failures:
        return ""
    shown, more = ", ".join(failures[:_SHOWN_MAX]), len(failures) - _SHOWN_MAX
    return f"; Creation failed: {shown}{f' and {more} more' if more > 0 else ''}."


def _unauthorized(missing: Sequence[InternalTopic], context: RequestContext) -> Steps[list[str]]:
    """Return the topics that the client may not create."""
    rights = context.rights
    if rights is None or rights.allows(Operation.CREATE, Resource.CLUSTER, quietly=True):
        return []
    names = [topic.name for topic in missing]
    creatable = yield from rights.each_allowed(Operation.CREATE, Resource.TOPIC, names)
    return [name for name in names if name not in creatable]


def _change(topics: Sequence[InternalTopic], context: RequestContext) -> list[str]:
    """Create some topics in one change; return each that failed, with the reason. Existing ones are no failure."""
    services = context.services
    try:
        services.disk_space.check_may_grow()
        check_request_size(topic.partitions for topic in topics)
        results = services.catalogue.create_topics([_wish(topic) for topic in topics])
    except KafkaError as failure:
        results = [failure.as_value()] * len(topics)
    return [
        f"{topic.name} ({result.message})"
        for topic, result in zip(topics, results, strict=True)
        if isinstance(result, KafkaError) and result.code is not ErrorCode.TOPIC_ALREADY_EXISTS
    ]


def _wish(topic: InternalTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor or -1,
        configs=dict(topic.configs),
    )
