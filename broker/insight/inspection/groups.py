"""The groups that are loaded: state, members, and what they committed.

Groups are loaded at their first use, and looking is one: `begin_loading` has it done, and does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.coordinator.runtime.placement import partition_for
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from barnabas.broker.coordinator.group.decisions.classic.model import CommittedOffset, Group
    from barnabas.broker.coordinator.group.decisions.classic.states import State
    from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
    from barnabas.broker.coordinator.group.decisions.consumer.model import GroupState
    from barnabas.broker.coordinator.group.decisions.kinds import AnyGroup
    from barnabas.broker.coordinator.group.decisions.machine import GroupMachine
    from barnabas.broker.coordinator.runtime.outcome import TimerKey
    from barnabas.broker.services import Services


class GroupSummary(NamedTuple):
    """A group as it is now."""

    state: State | GroupState
    members_count: int


class Committed(NamedTuple):
    """What a group committed for a partition."""

    topic: str
    partition: int
    offset: int


class Position(NamedTuple):
    """Where a group is on one partition."""

    group_id: str
    offset: int


class LoadedGroup:
    """One group, to be read when its turn comes; it may be gone by then."""

    __slots__ = ("_machine", "group_id")

    def __init__(self, group_id: str, machine: GroupMachine) -> None:
        self.group_id = group_id
        self._machine = machine

    def summary(self) -> GroupSummary | None:
        """As it is now; None when it is gone."""
        group = self._machine.group(self.group_id)
        return None if group is None else GroupSummary(group.state, len(group.members))

    def whole(self) -> Group | ConsumerGroup | None:
        """All of it, which nobody may change; None when it is gone."""
        return self._machine.group(self.group_id)

    def some_committed(self, count: int) -> Iterator[Committed]:
        """So much of what it committed, in no order."""
        offsets = self._machine.durable.offsets(self.group_id)
        every = ((topic, *each) for topic, by_partition in offsets.items() for each in by_partition.items())
        for topic, partition, committed in islice(every, count):
            yield Committed(topic, partition, committed.offset)

    def committed(self) -> Iterator[Committed]:
        """What it committed, by topic and partition; offsets in open transactions do not count yet."""
        for topic, by_partition in sorted(self._machine.durable.offsets(self.group_id).items()):
            for partition, committed in sorted(by_partition.items()):
                yield Committed(topic, partition, committed.offset)


class FoundGroup(NamedTuple):
    """What its coordinator has of one group."""

    group: AnyGroup | None
    """None where there is none but for what it committed."""
    offsets: Mapping[str, Mapping[int, CommittedOffset]]
    """topic -> partition -> what is committed"""
    unstable: Collection[tuple[str, int]]
    """(topic, partition) with an offset in a transaction that is not over."""
    time_left_ms: Callable[[TimerKey], int | None]
    """How long until one of its timers fires."""
    pending_producers: Callable[[str, int], Collection[int]]
    """In whose open transactions an offset for (topic, partition) was committed."""

    @property
    def exists(self) -> bool:
        """Whether anything is known of it."""
        return self.group is not None or bool(self.offsets) or bool(self.unstable)


def find_group(services: Services, group_id: str) -> FoundGroup | None:
    """A group as it is now; None where there is no topic for groups. KafkaError while its partition loads."""
    topic = services.catalogue.topics.get(CONSUMER_OFFSETS_TOPIC)
    if topic is None:
        return None
    index = partition_for(group_id, len(topic.partitions))
    leader = services.cluster.placement_of(CONSUMER_OFFSETS_TOPIC, index).leader
    if leader == NO_LEADER:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no node leads {CONSUMER_OFFSETS_TOPIC}-{index}")
    coordinator = next(node.groups for node in services.every_node if node.node.node_id == leader)
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
    """Have every partition loaded that may have groups in it and was not used in this run."""
    if CONSUMER_OFFSETS_TOPIC in services.catalogue.topics:
        on_disk = services.partitions.directory.partitions  # the others have no group in them
        used = [index for topic, index in on_disk if topic == CONSUMER_OFFSETS_TOPIC]
        for node in services.every_node:
            led = [index for index in used if node.cluster.leads(CONSUMER_OFFSETS_TOPIC, index)]
            if led:
                node.groups.load_in_background(led)


def loaded_groups(services: Services) -> list[LoadedGroup]:
    """The groups of all partitions that are loaded, by id."""
    return sorted(every_loaded_group(services), key=lambda group: group.group_id)


def every_loaded_group(services: Services) -> Iterator[LoadedGroup]:
    """The same one after another, in no order. Groups that come later may be missing, and some may be gone."""
    for machine in list(_machines(services)):
        for group_id in machine.group_ids():
            yield LoadedGroup(group_id, machine)


def positions(services: Services, topic: str, partition: int) -> Iterator[Position]:
    """What each group that is loaded committed for one partition."""
    for machine in _machines(services):
        for group_id in machine.durable.groups_of(topic):
            committed = machine.durable.committed(group_id, topic, partition)
            if committed is not None:
                yield Position(group_id, committed.offset)


def groups_in_transaction(services: Services, producer_id: int) -> set[str]:
    """The groups that this producer committed offsets for in a transaction that has not ended."""
    return {group for machine in _machines(services) for group in machine.durable.groups_in_transaction(producer_id)}


def _machines(services: Services) -> Iterator[GroupMachine]:
    """Of the partitions that are loaded."""
    if CONSUMER_OFFSETS_TOPIC in services.catalogue.topics:
        for node in services.every_node:
            for partition in node.groups.loaded():
                yield partition.machine
