"""A streams group (KIP-1071) from its records: members, epochs, topology, targets, and the processes that have tasks.

Everything here is durable and changed by replay alone, except `volatile`; `changes` counts replayed records. Decisions
read it and return records.

Invariants: each value of `instances` is the member with that instance id; the owners are the processes of all members
that have a task, or have to give it up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from copy import copy

from barnabas.broker.coordinator.group.decisions.modern.group import MetadataSeen, ModernGroup, VolatileState
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.group.decisions.streams.model import (
    StreamsGroupMember,
    StreamsGroupState,
    StreamsVolatile,
)
from barnabas.broker.coordinator.group.decisions.streams.records import everything_gone
from barnabas.broker.coordinator.group.decisions.streams.tasks import OwnedTasks, Tasks, TaskSets, active_of
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import StreamsTopology

FIRST_EPOCH = 1
"""The epoch of a group before its first member."""
NO_TOPOLOGY_EPOCH = -1
STREAMS_PROTOCOL = "streams"

_NO_TARGET = TaskSets()
_Owners = dict[tuple[str, int], dict[str, int]]


class StreamsGroup(ModernGroup):
    """One streams group."""

    group_type = protocol_type = STREAMS_PROTOCOL

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.validated_topology_epoch = NO_TOPOLOGY_EPOCH
        """The epoch of the topology whose topics were found to exist as they have to."""
        self.assignment_configs: Mapping[str, str] = {}
        """The settings that the current epoch was begun with."""
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        """When the target was computed; 0: the next may be computed at any time."""
        self.topology: StreamsTopology | None = None
        self.members: dict[str, StreamsGroupMember] = {}
        self.instances: dict[str, str] = {}
        """group.instance.id -> member id"""
        self.targets: dict[str, TaskSets] = {}
        self.largest = 0
        """The largest number of members to have room for, as `timeline_order` counts them."""
        self.volatile = StreamsVolatile()
        self._active: _Owners = {}  # process id -> how many of its members have the task, by task
        self._standby: _Owners = {}
        self._warmup: _Owners = {}

    def __eq__(self, other: object) -> bool:
        """Return whether both are equal in everything that a client could see and that is durable."""
        if not isinstance(other, StreamsGroup):
            return NotImplemented
        return self._visible() == other._visible()

    __hash__ = None  # type: ignore[assignment]  # because it changes

    def _visible(self) -> tuple[object, ...]:
        epochs = self.group_epoch, self.metadata_hash, self.validated_topology_epoch, self.assignment_epoch
        more = self.assignment_timestamp_ms, dict(self.assignment_configs), self.topology
        owners = self._active, self._standby, self._warmup
        return self.group_id, epochs, more, self.members, self.targets, owners

    @property
    def state(self) -> StreamsGroupState:
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.group_epoch > self.assignment_epoch:
            return StreamsGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    def static_member(self, instance_id: str | None) -> StreamsGroupMember | None:
        """Return the member with this instance id, or None."""
        member_id = None if instance_id is None else self.instances.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def target_of(self, member: StreamsGroupMember) -> TaskSets:
        """Return the member's target; for a static member that comes back, the target of its former id."""
        holder_id = self.instances.get(member.instance_id or "", member.member_id)
        return self.targets.get(holder_id, _NO_TARGET)

    def subscribed_topics(self) -> Collection[str]:
        """Return every topic that the topology reads; none for a group without members."""
        return self.topology.by_source_topic.keys() if self.members and self.topology is not None else ()

    def tombstones(self) -> list[KeyedRecord]:
        """Return the records that delete the group, without its offsets."""
        return [*everything_gone(self.group_id, self.members)]

    def install(self, volatile: MetadataSeen | VolatileState) -> None:
        """Store the volatile part of the group after a decision."""
        assert isinstance(volatile, StreamsVolatile), volatile
        self.volatile = volatile

    def has_active_owner(self, subtopology_id: str, partition: int) -> bool:
        """Return whether a member has the active task, or has to give it up."""
        return (subtopology_id, partition) in self._active

    def has_on_process(self, process_id: str, subtopology_id: str, partition: int, *, is_active: bool) -> bool:
        """Return whether a process has the task as standby or warm-up task; with `is_active`, in any role."""
        task = subtopology_id, partition
        of_roles = (self._standby, self._warmup, self._active)[: 3 if is_active else 2]
        return any(process_id in owners.get(task, ()) for owners in of_roles)

    # For replay

    def copy(self) -> StreamsGroup:
        """Return a copy to replay on. Members and targets are values, and shared."""
        copied = copy(self)
        copied.members, copied.instances = self.members.copy(), self.instances.copy()
        copied.targets = self.targets.copy()
        copied._active, copied._standby, copied._warmup = (
            {task: owners.copy() for task, owners in each.items()}
            for each in (self._active, self._standby, self._warmup)
        )
        return copied

    def put_member(self, member: StreamsGroupMember) -> None:
        """Add a member, or replace it by its current state."""
        before = self.members.get(member.member_id)
        self.largest = max(self.largest, len(self.members) + 1)
        if before is not None:
            self._count(before, -1)
            if before.instance_id is not None:
                self.instances.pop(before.instance_id, None)
        self.members[member.member_id] = member
        self._count(member, 1)
        if member.instance_id is not None:
            self.instances[member.instance_id] = member.member_id

    def remove_member(self, member_id: str) -> None:
        """Remove a member."""
        member = self.members.pop(member_id)
        self._count(member, -1)
        if member.instance_id is not None and self.instances.get(member.instance_id) == member_id:
            del self.instances[member.instance_id]

    def _count(self, member: StreamsGroupMember, change: int) -> None:
        for owned in (member.assigned, member.pending_revocation):
            for owners, tasks in self._roles(owned):
                for task in _each(tasks):
                    _add(owners, task, member.process_id, change)

    def _roles(self, owned: OwnedTasks) -> tuple[tuple[_Owners, Tasks], ...]:
        return (self._active, active_of(owned)), (self._standby, owned.standby), (self._warmup, owned.warmup)


def _each(tasks: Tasks) -> Iterator[tuple[str, int]]:
    return ((subtopology_id, number) for subtopology_id, numbers in tasks.items() for number in numbers)


def _add(owners: _Owners, task: tuple[str, int], process_id: str, change: int) -> None:
    counts = owners.setdefault(task, {})
    count = counts.get(process_id, 0) + change
    if count > 0:
        counts[process_id] = count
    else:
        counts.pop(process_id, None)
        if not counts:
            del owners[task]
