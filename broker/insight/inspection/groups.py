"""The groups that are loaded: state, members, and committed offsets.

Groups are loaded at their first use, and an inspection is a use: `begin_loading` starts it, and does not wait for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from enum import Enum

    from barnabas.broker.coordinator.group.decisions.classic.model import CommittedOffset
    from barnabas.broker.coordinator.group.decisions.group_machine import GroupMachine
    from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup
    from barnabas.broker.coordinator.group.group_coordinator import GroupCoordinator
    from barnabas.broker.coordinator.runtime.outcome import TimerKey
    from barnabas.broker.services import Services


class GroupSummary(NamedTuple):
    """A group's present state."""

    state: Enum
    members_count: int


class Committed(NamedTuple):
    """An offset that a group committed for a partition."""

    topic: str
    partition: int
    offset: int


class Position(NamedTuple):
    """A group's position in one partition."""

    group_id: str
    offset: int


class LoadedGroup:
    """One group, read later by its methods; it may be gone by then."""

    __slots__ = ("_machine", "group_id")

    def __init__(self, group_id: str, machine: GroupMachine) -> None:
        self.group_id = group_id
        self._machine = machine

    def summary(self) -> GroupSummary | None:
        """Return the present state; None if the group is gone."""
        group = self._machine.group(self.group_id)
        return None if group is None else GroupSummary(group.state, len(group.members))

    def whole(self) -> AnyGroup | None:
        """Return the whole group, which callers must not change; None if it is gone."""
        return self._machine.group(self.group_id)

    def some_committed(self, count: int) -> Iterator[Committed]:
        """Yield at most `count` committed offsets, in no order."""
        offsets = self._machine.durable.offsets(self.group_id)
        every = ((topic, *each) for topic, by_partition in offsets.items() for each in by_partition.items())
        for topic, partition, committed in islice(every, count):
            yield Committed(topic, partition, committed.offset)

    def committed(self) -> Iterator[Committed]:
        """Yield the committed offsets by topic and partition, without those of open transactions."""
        for topic, by_partition in sorted(self._machine.durable.offsets(self.group_id).items()):
            for partition, committed in sorted(by_partition.items()):
                yield Committed(topic, partition, committed.offset)


class GroupCoordinatorTotals(NamedTuple):
    """The group coordinators of all nodes."""

    rebalances: Counter[str]
    """Group epochs that began in this run, by protocol: consumer, share, streams."""
    partitions_by_state: Counter[str]
    """The partitions of `__consumer_offsets` in use: active, loading, failed."""


def group_coordinators(services: Services) -> GroupCoordinatorTotals:
    """Return what the group coordinators did in this run, and the partitions that they have."""
    rebalances, by_state = Counter[str](), Counter[str]()
    for node in services.every_node:
        rebalances.update(node.groups.rebalances)
        by_state.update(node.groups.partitions_by_state())
    return GroupCoordinatorTotals(rebalances, by_state)


class FoundGroup(NamedTuple):
    """One group as its coordinator has it."""

    group: AnyGroup | None
    """None if the coordinator has only committed offsets."""
    offsets: Mapping[str, Mapping[int, CommittedOffset]]
    """topic -> partition -> committed offset"""
    unstable: Collection[tuple[str, int]]
    """(topic, partition) with an offset in an open transaction."""
    time_left_ms: Callable[[TimerKey], int | None]
    """Returns the time until one of the group's timers fires."""
    pending_producers: Callable[[str, int], Collection[int]]
    """Returns the producer ids whose open transactions contain an offset for (topic, partition)."""

    @property
    def exists(self) -> bool:
        """Whether the coordinator has anything of the group."""
        return self.group is not None or bool(self.offsets) or bool(self.unstable)


def coordinator_of(services: Services, group_id: str) -> GroupCoordinator | None:
    """Return the coordinator of a group; None without __consumer_offsets. Raise KafkaError if no node leads it."""
    topic = services.catalogue.topics.get(CONSUMER_OFFSETS_TOPIC)
    if topic is None:
        return None
    index = partition_for(group_id, len(topic.partitions))
    leader = services.cluster.placement_of(CONSUMER_OFFSETS_TOPIC, index).leader
    if leader == NO_LEADER:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no node leads {CONSUMER_OFFSETS_TOPIC}-{index}")
    return next(node.groups for node in services.every_node if node.node.node_id == leader)


def find_group(services: Services, group_id: str) -> FoundGroup | None:
    """Return a group's present state; None without __consumer_offsets. Raise KafkaError while its partition loads."""
    coordinator = coordinator_of(services, group_id)
    if coordinator is None:
        return None
    index = partition_for(group_id, len(services.catalogue.topics[CONSUMER_OFFSETS_TOPIC].partitions))
    committed = coordinator.fetch_offsets(group_id)
    partition = next(each for each in coordinator.loaded() if each.index == index)
    return FoundGroup(
        partition.machine.group(group_id),
        committed.offsets,
        committed.unstable,
        partial(partition.shard.time_left_ms, group_id),
        partial(partition.machine.durable.pending_producers, group_id),
    )


def begin_loading(services: Services) -> None:
    """Start to load every partition that may contain groups and was not used in this run."""
    if CONSUMER_OFFSETS_TOPIC in services.catalogue.topics:
        on_disk = services.partitions.directory.partitions  # the others contain no group
        used = [index for topic, index in on_disk if topic == CONSUMER_OFFSETS_TOPIC]
        for node in services.every_node:
            led = [index for index in used if node.cluster.leads(CONSUMER_OFFSETS_TOPIC, index)]
            if led:
                node.groups.load_in_background(led)


def loaded_groups(services: Services) -> list[LoadedGroup]:
    """Return the groups of all loaded partitions, by id."""
    return sorted(every_loaded_group(services), key=lambda group: group.group_id)


def every_loaded_group(services: Services) -> Iterator[LoadedGroup]:
    """Yield the groups of all loaded partitions, in no order. New groups may be missing, and some may be gone."""
    for machine in list(_machines(services)):
        for group_id in machine.group_ids():
            yield LoadedGroup(group_id, machine)


def positions(services: Services, topic: str, partition: int) -> Iterator[Position]:
    """Yield the position of each loaded group that committed an offset for this partition."""
    for machine in _machines(services):
        for group_id in machine.durable.groups_of(topic):
            committed = machine.durable.committed(group_id, topic, partition)
            if committed is not None:
                yield Position(group_id, committed.offset)


def groups_in_transaction(services: Services, producer_id: int) -> set[str]:
    """Return the groups for which this producer committed offsets in a transaction that has not ended."""
    return {group for machine in _machines(services) for group in machine.durable.groups_in_transaction(producer_id)}


def _machines(services: Services) -> Iterator[GroupMachine]:
    """Yield the state machines of the loaded partitions."""
    if CONSUMER_OFFSETS_TOPIC in services.catalogue.topics:
        for node in services.every_node:
            for partition in node.groups.loaded():
                yield partition.machine
