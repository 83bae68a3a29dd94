"""The internal topics of a streams group (KIP-1071): how many partitions each needs, and which are missing. Pure.

In Kafka's order: source topics must exist; repartition topics get their declared numbers, or the largest number of the
sources of a subtopology that writes to them; copartitioned topics are brought to one number; a changelog has as many
partitions as its subtopology has tasks. What the existing topics do not fit is a problem that the members see as a
status of the group; what no topics could fit is STREAMS_INVALID_TOPOLOGY.

Invariants: a topology without a problem has subtopologies; missing topics are themselves a problem.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.consumer.model import Topics
from barnabas.broker.coordinator.group.decisions.streams.topics.copartitioning import (
    RepartitionTopics,
    TopicProblem,
    TopologyStatus,
    enforced,
)
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import StreamsTopology, copartition_groups
from barnabas.broker.coordinator.runtime.partition_for import utf16
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.streams_group import StoredSubtopology, StoredTopicInfo
from barnabas.storage.steps import Pauses, Steps

_SHOWN_MAX = 3


class InternalTopic(NamedTuple):
    """A topic that the coordinator creates for the group."""

    name: str
    partitions: int
    replication_factor: int
    """0: the broker's default."""
    configs: Mapping[str, str]


class ConfiguredSubtopology(NamedTuple):
    """A subtopology with the numbers that its topics have, or will have."""

    tasks_count: int
    source_topics: tuple[str, ...]
    repartition_source_topics: Mapping[str, InternalTopic]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: Mapping[str, InternalTopic]

    @property
    def is_stateful(self) -> bool:
        return bool(self.state_changelog_topics)

    @property
    def all_sources(self) -> tuple[str, ...]:
        return *self.source_topics, *self.repartition_source_topics


class ConfiguredTopology(NamedTuple):
    """A topology compared with the existing topics."""

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology]
    """By id, sorted as Java's strings; empty if a problem other than missing internal topics was found."""
    missing: tuple[InternalTopic, ...] = ()
    problem: TopicProblem | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


class _Problem(Exception):
    """Raised where the topology does not fit the topics."""

    def __init__(self, status: TopologyStatus, detail: str) -> None:
        super().__init__(detail)
        self.found = TopicProblem(status, detail)


def configured(topology: StreamsTopology, topics: Topics) -> Steps[ConfiguredTopology]:
    """Compare the topology with the topics. STREAMS_INVALID_TOPOLOGY. In steps; topics may change in between."""
    try:
        yield from _check_sources(topology, topics)
        counts = _Counts(topics)
        yield from _decide_repartition_topics(topology, counts)
        yield from _decide_copartitioned_topics(topology, counts)
        subtopologies: dict[str, ConfiguredSubtopology] = {}
        pauses = Pauses()
        for subtopology_id in sorted(topology.subtopologies, key=utf16):
            each = topology.subtopologies[subtopology_id]
            subtopologies[subtopology_id] = yield from _configured(each, counts, pauses)
        missing = yield from _missing(subtopologies.values(), counts)
    except _Problem as unfit:
        return ConfiguredTopology(topology.epoch, {}, problem=unfit.found)
    if not missing:
        return ConfiguredTopology(topology.epoch, subtopologies)
    detail = f"Internal topics are missing: {_summary([topic.name for topic in missing])}"
    problem = TopicProblem(TopologyStatus.MISSING_INTERNAL_TOPICS, detail)
    return ConfiguredTopology(topology.epoch, subtopologies, missing, problem)


class _Counts:
    """Numbers of partitions: of existing topics, and the decided ones of the others."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self.decided: dict[str, int] = {}

    def existing(self, name: str) -> int | None:
        topic_id = self._topics.ids.get(name)
        return None if topic_id is None else self._topics.partition_counts.get(topic_id)

    def of(self, name: str) -> int | None:
        existing = self.existing(name)
        return self.decided.get(name) if existing is None else existing

    def known(self, name: str) -> int:
        """Return the number of a topic that must have one by now. UNKNOWN_SERVER_ERROR, as from Kafka."""
        count = self.of(name)
        if count is None:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"Number of partitions is not set for topic: {name}")
        return count


def _check_sources(topology: StreamsTopology, topics: Topics) -> Steps[None]:
    missing: set[str] = set()
    pauses = Pauses()
    for each in topology.subtopologies.values():
        missing.update(name for name in each.source_topics if name not in topics.ids)
        if pauses.is_due(1 + len(each.source_topics)):
            yield
    if missing:
        shown = _summary(sorted(missing, key=utf16))
        raise _Problem(TopologyStatus.MISSING_SOURCE_TOPICS, f"Source topics {shown} are missing.")


def _decide_repartition_topics(topology: StreamsTopology, counts: _Counts) -> Steps[None]:
    """Decide the numbers of repartition topics, pass by pass until each that is written to has one."""
    decided: dict[str, int] = {}
    undecided: list[tuple[StoredSubtopology, str]] = []
    pauses = Pauses()
    for each in topology.subtopologies.values():
        decided.update((topic.name, topic.partitions) for topic in each.repartition_source_topics if topic.partitions)
        undecided += [(each, sink) for sink in each.repartition_sink_topics]
        if pauses.is_due(1 + len(each.repartition_source_topics) + len(each.repartition_sink_topics)):
            yield
    while undecided:
        left = []
        for each, sink in undecided:
            if sink not in decided:
                count = _largest_source(each, decided, counts)
                if count is None:
                    left.append((each, sink))
                else:
                    decided[sink] = count
            if pauses.is_due(1 + len(each.source_topics) + len(each.repartition_source_topics)):
                yield
        if len(left) == len(undecided):
            raise _invalid(
                "Failed to compute number of partitions for all repartition topics. "
                "There may be loops in the topology that cannot be resolved."
            )
        undecided = left
    for each in topology.subtopologies.values():
        if any(topic.name not in decided for topic in each.repartition_source_topics):
            raise _invalid(
                "Failed to compute number of partitions for all repartition topics, because a repartition source topic "
                "is never used as a sink topic."
            )
        if pauses.is_due(1 + len(each.repartition_source_topics)):
            yield
    counts.decided.update(decided)


def _largest_source(subtopology: StoredSubtopology, decided: Mapping[str, int], counts: _Counts) -> int | None:
    """Return the largest known number among a subtopology's sources; None if none is known yet."""
    known = [decided.get(topic.name) for topic in subtopology.repartition_source_topics]
    known += [counts.of(name) for name in subtopology.source_topics]
    return max((count for count in known if count is not None), default=None)


def _decide_copartitioned_topics(topology: StreamsTopology, counts: _Counts) -> Steps[None]:
    fixed: dict[str, int] = {}
    flexible: set[str] = set()
    pauses = Pauses()
    for each in topology.subtopologies.values():
        for topic in each.repartition_source_topics:
            if topic.partitions:
                fixed[topic.name] = counts.known(topic.name)
            else:
                flexible.add(topic.name)
        if pauses.is_due(1 + len(each.repartition_source_topics)):
            yield
    repartitions = RepartitionTopics(fixed.keys(), flexible, tuple(dict.fromkeys(fixed.values())))
    for each in topology.subtopologies.values():
        for names in copartition_groups(each):
            of_group = {name: counts.known(name) for name in sorted(names, key=utf16)}
            decided = enforced(of_group, repartitions)
            if isinstance(decided, TopicProblem):
                raise _Problem(*decided)
            counts.decided.update(decided)
            if pauses.is_due(1 + len(of_group)):
                yield


def _configured(subtopology: StoredSubtopology, counts: _Counts, pauses: Pauses) -> Steps[ConfiguredSubtopology]:
    sources = [*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics)]
    if not sources:
        raise _invalid(f"No source topics found for subtopology {subtopology.subtopology_id}")
    tasks_count = max(map(counts.known, sources))
    if pauses.is_due(len(sources)):
        yield
    changelogs = subtopology.state_changelog_topics
    counts.decided.update(dict.fromkeys([topic.name for topic in changelogs], tasks_count))
    return ConfiguredSubtopology(
        tasks_count,
        tuple(subtopology.source_topics),
        (yield from _internal_topics(subtopology.repartition_source_topics, counts, pauses)),
        tuple(subtopology.repartition_sink_topics),
        (yield from _internal_topics(changelogs, counts, pauses)),
    )


def _internal_topics(
    topics: Iterable[StoredTopicInfo], counts: _Counts, pauses: Pauses
) -> Steps[Mapping[str, InternalTopic]]:
    made: dict[str, InternalTopic] = {}
    for topic in topics:
        made[topic.name] = _internal(topic, counts)
        if pauses.is_due(1 + len(topic.topic_configs)):
            yield
    return made


def _internal(topic: StoredTopicInfo, counts: _Counts) -> InternalTopic:
    partitions = topic.partitions or counts.decided[topic.name]
    if partitions < 1:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "Number of partitions must be at least 1.")
    configs = {config.key: config.value for config in topic.topic_configs}
    return InternalTopic(topic.name, partitions, topic.replication_factor, configs)


def _missing(subtopologies: Iterable[ConfiguredSubtopology], counts: _Counts) -> Steps[tuple[InternalTopic, ...]]:
    """Return the internal topics that do not exist. _Problem if one exists with another number of partitions."""
    wanted: dict[str, InternalTopic] = {}
    for each in subtopologies:
        wanted.update(each.repartition_source_topics)
        wanted.update(each.state_changelog_topics)
    missing = []
    pauses = Pauses()
    for name, topic in wanted.items():
        existing = counts.existing(name)
        if existing is None:
            missing.append(topic)
        elif existing != topic.partitions:
            raise _Problem(
                TopologyStatus.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {name} has different number of partitions: "
                f"expected {topic.partitions}, found {existing}",
            )
        if pauses.is_due():
            yield
    return tuple(missing)


def _summary(names: Collection[str]) -> str:
    """Return the first names and how many more there are."""
    shown = ", ".join(list(names)[:_SHOWN_MAX])
    more = len(names) - _SHOWN_MAX
    return f"{shown} and {more} additional topics" if more > 0 else shown


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, why)
