"""The topology of a streams group (KIP-1071), as its members declare it and its record stores it.

A topology has subtopologies. Each reads source topics and repartition topics, may write repartition topics, and has a
changelog topic for each of its states. Every partition number of its sources is a task.

Invariants: the epoch is not negative; every index of a copartition group is one of its subtopology's lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import STRING, HashOrder
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records import streams_group as log
from barnabas.storage.steps import Pauses, Steps

_HASHED_AT_ONCE = 16
"""So many characters of an id take as long as a small operation."""
_COMPARED_AT_ONCE = 10


class CheckedSubtopologies(list[log.StoredSubtopology]):
    """Subtopologies of a topology that was made before: valid, and in its order."""


class StreamsTopology:
    """A topology in one epoch; never changed."""

    def __init__(self, epoch: int, subtopologies: Mapping[str, log.StoredSubtopology]) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies
        """By id, in the order in which Java's HashMap iterates."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamsTopology):
            return NotImplemented
        return self.epoch == other.epoch and self.subtopologies == other.subtopologies

    __hash__ = None  # type: ignore[assignment]  # nothing needs it

    def required_topics(self) -> Steps[set[str]]:
        """Return the names of all topics that the topology reads or has its state in. In steps."""
        found: set[str] = set()
        pauses = Pauses()
        for each in self.subtopologies.values():
            names = list(_topics_of(each))
            found.update(names)
            if pauses.is_due(1 + len(names)):
                yield
        return found

    def is_like(self, other: StreamsTopology) -> Steps[bool]:
        """Return whether both are equal. In steps."""
        if self.epoch != other.epoch or self.subtopologies.keys() != other.subtopologies.keys():
            return False
        pauses = Pauses(_COMPARED_AT_ONCE)
        for subtopology_id, each in self.subtopologies.items():
            if each != other.subtopologies[subtopology_id]:
                return False
            if pauses.is_due():
                yield
        return True

    @cached_property
    def by_source_topic(self) -> Mapping[str, str]:
        """The subtopology that reads a topic, by the topic's name."""
        found: dict[str, str] = {}
        for subtopology_id, each in self.subtopologies.items():
            found.update(dict.fromkeys(each.source_topics, subtopology_id))
            found.update((topic.name, subtopology_id) for topic in each.repartition_source_topics)
        return found

    def stored(self) -> log.StreamsGroupTopologyValue:
        """Return the value of the topology's record."""
        return log.StreamsGroupTopologyValue(
            epoch=self.epoch, subtopologies=CheckedSubtopologies(self.subtopologies.values())
        )


def topology_of(value: log.StreamsGroupTopologyValue) -> Steps[StreamsTopology]:
    """Return the topology of a record, in steps. UNKNOWN_SERVER_ERROR, as Kafka answers, for one that cannot be."""
    by_id = {each.subtopology_id: each for each in value.subtopologies}
    if isinstance(value.subtopologies, CheckedSubtopologies):
        return StreamsTopology(value.epoch, by_id)
    if value.epoch < 0:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "Topology epoch must be non-negative.")
    if len(by_id) < len(value.subtopologies):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "A subtopology id occurs twice.")
    order = HashOrder(STRING)
    pauses = Pauses()
    for subtopology_id, each in by_id.items():
        _check_copartition_groups(each)
        order.put(subtopology_id)
        if pauses.is_due(1 + len(each.copartition_groups) + len(subtopology_id) // _HASHED_AT_ONCE):
            yield
    return StreamsTopology(value.epoch, {subtopology_id: by_id[subtopology_id] for subtopology_id in order.in_order()})


def copartition_groups(subtopology: log.StoredSubtopology) -> Iterator[frozenset[str]]:
    """Yield the names of the topics that need the same number of partitions, group by group."""
    for group in subtopology.copartition_groups:
        external = (subtopology.source_topics[index] for index in group.source_topics)
        internal = (subtopology.repartition_source_topics[index].name for index in group.repartition_source_topics)
        yield frozenset((*external, *internal))


def _check_copartition_groups(subtopology: log.StoredSubtopology) -> None:
    external, internal = len(subtopology.source_topics), len(subtopology.repartition_source_topics)
    for group in subtopology.copartition_groups:
        is_valid = all(0 <= index < external for index in group.source_topics) and all(
            0 <= index < internal for index in group.repartition_source_topics
        )
        if not is_valid:
            why = f"A copartition group of subtopology {subtopology.subtopology_id} names a topic that is not there."
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, why)


def _topics_of(subtopology: log.StoredSubtopology) -> Iterator[str]:
    yield from subtopology.source_topics
    yield from (topic.name for topic in subtopology.repartition_source_topics)
    yield from (topic.name for topic in subtopology.state_changelog_topics)
