"""The endpoints of a streams group's processes (KIP-1071), with the topic partitions that each can be queried for."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.coordinator.group.decisions.consumer.model import Topics
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.model import EndpointTasks, StreamsGroupMember
from barnabas.broker.coordinator.group.decisions.streams.tasks import Tasks, active_of
from barnabas.broker.coordinator.group.decisions.streams.topics.internal_topics import ConfiguredTopology
from barnabas.storage.steps import Steps


def endpoints(
    group: StreamsGroup, updated: StreamsGroupMember, topology: ConfiguredTopology, topics: Topics
) -> Steps[tuple[EndpointTasks, ...]]:
    """Return the endpoints of all members that have one, with `updated` as the last; in steps."""
    found = []
    others = (member for member in list(group.members.values()) if member.member_id != updated.member_id)
    for member in (*others, updated):
        if member.user_endpoint is not None:
            active = _partitions(active_of(member.assigned), topology, topics)
            standby = _partitions(member.assigned.standby, topology, topics)
            found.append(EndpointTasks(member.user_endpoint, active, standby))
            yield
    return tuple(found)


def _partitions(tasks: Tasks, topology: ConfiguredTopology, topics: Topics) -> Mapping[str, tuple[int, ...]]:
    """Return the partitions of the source topics behind tasks. A smaller topic does not have the last of them."""
    found: dict[str, tuple[int, ...]] = {}
    for subtopology_id, numbers in tasks.items():
        subtopology = topology.subtopologies.get(subtopology_id)
        for name in () if subtopology is None else subtopology.all_sources:
            count = topics.partition_counts.get(topics.ids.get(name, b""), 0)
            found[name] = tuple(sorted(numbers)[: count if count < len(numbers) else None])
    return found
