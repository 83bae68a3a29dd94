"""A consumer group (KIP-848) from its records: members, epochs, targets, and the owners of partitions.

Decisions read it and return records.

Invariants: each value of `instances` is the member with that instance id; the counts are those of the members;
`epoch_of` knows every partition that some member has or has to revoke.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from copy import copy
from typing import TypeVar

from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import STRING, HashOrder
from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import timeline_order
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import NOTHING, Assignment
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    ConsumerGroupMember,
    GroupState,
    ResolvedRegex,
)
from barnabas.broker.coordinator.group.decisions.consumer.reconciliation import NOT_OWNED
from barnabas.broker.coordinator.group.decisions.consumer.records import everything_gone
from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord

FIRST_EPOCH = 1
"""The epoch of a group before its first member."""
CONSUMER_PROTOCOL = "consumer"

_NONE: dict[int, int] = {}  # never changed

K = TypeVar("K")


class ConsumerGroup(ModernGroup):
    """One consumer group."""

    group_type = "consumer"
    protocol_type = CONSUMER_PROTOCOL

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        """When the target was computed; 0: the next may be computed at any time."""
        self.members: dict[str, ConsumerGroupMember] = {}
        self.instances: dict[str, str] = {}
        """group.instance.id -> member id"""
        self.targets: dict[str, Assignment] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        self.has_partition_metadata = False
        """Whether there is a record of Kafka 4.0, which is deleted at the next opportunity."""
        self.largest = 0
        """The largest number of members to have room for, as `timeline_order` counts them."""
        self.name_counts: dict[str, int] = {}
        """How many members subscribe to a topic by its name."""
        self.regex_counts: dict[str, int] = {}
        """How many members subscribe by a regular expression."""
        self.assignor_counts: dict[str, int] = {}
        """How many members request an assignor."""
        self.classic_count = 0
        """How many members use the classic protocol."""
        self.classic_protocol_counts: dict[str, int] = {}
        """How many of these support a protocol (which is a client-side assignor)."""
        self._epochs: dict[bytes, dict[int, int]] = {}  # the owner's epoch, by topic id and partition

    def __eq__(self, other: object) -> bool:
        """Return whether both are equal in everything that a client could see."""
        if not isinstance(other, ConsumerGroup):
            return NotImplemented
        return self._visible() == other._visible()

    __hash__ = None  # type: ignore[assignment]  # because it changes

    def _visible(self) -> tuple[object, ...]:
        epochs = self.group_epoch, self.metadata_hash, self.assignment_epoch, self.assignment_timestamp_ms
        return self.group_id, epochs, self.members, self.targets, self.regexes, self._epochs

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.group_epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def static_member(self, instance_id: str | None) -> ConsumerGroupMember | None:
        """Return the member with this instance id, or None."""
        member_id = None if instance_id is None else self.instances.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def target_of(self, member: ConsumerGroupMember) -> Assignment:
        """Return the member's target; for a static member that comes back, the target of its former id."""
        if member.instance_id is None:
            return self.targets.get(member.member_id, NOTHING)
        return self.targets.get(self.instances.get(member.instance_id, ""), NOTHING)

    def epoch_of(self, topic_id: bytes, partition: int) -> int:
        """Return the epoch of the member that has the partition, or has to revoke it; NOT_OWNED if there is none."""
        return self._epochs.get(topic_id, _NONE).get(partition, NOT_OWNED)

    def subscribed_topics(self) -> Collection[str]:
        """Return every topic that a member subscribes to, by name or by a resolved regular expression."""
        names = dict.fromkeys(self.name_counts)
        for regex in self.regexes.values():
            names.update(dict.fromkeys(regex.topics))
        return names.keys()

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.name_counts or any(topic in regex.topics for regex in self.regexes.values())

    def preferred_assignor(self) -> str | None:
        """Return the assignor that most members request; None if no member requests one."""
        return preferred(self.assignor_counts)

    def takes_classic_protocols(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Return whether a member with these can be in this group: all classic members support one of them."""
        return protocol_type == CONSUMER_PROTOCOL and any(
            self.classic_protocol_counts.get(name, 0) == self.classic_count for name in names
        )

    def members_in_order(self) -> Generator[None, None, list[ConsumerGroupMember]]:
        """Return the members in the order of Kafka's table, in small steps; members must not change in between."""
        member_ids = yield from timeline_order(self.members, self.largest)
        return [self.members[member_id] for member_id in member_ids]

    def tombstones(self) -> list[KeyedRecord]:
        return [*everything_gone(self.group_id, self.members, self.regexes)]

    # For replay

    def copy(self) -> ConsumerGroup:
        """Return a copy to replay on. Members, targets and regular expressions are values, and shared."""
        copied = copy(self)
        copied.members, copied.instances = self.members.copy(), self.instances.copy()
        copied.targets, copied.regexes = self.targets.copy(), self.regexes.copy()
        copied._epochs = {topic_id: epochs.copy() for topic_id, epochs in self._epochs.items()}
        return copied

    def put_member(self, member: ConsumerGroupMember) -> None:
        """Add a member, or replace it by its current state."""
        before = self.members.get(member.member_id)
        self.largest = max(self.largest, len(self.members) + 1)
        self.members[member.member_id] = member
        self._count(before, member)
        if before is not None:
            self._release(before)
            if before.instance_id is not None:
                self.instances.pop(before.instance_id, None)
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                epochs = self._epochs.setdefault(topic_id, {})
                for partition in partitions:
                    epochs[partition] = max(member.member_epoch, epochs.get(partition, member.member_epoch))
        if member.instance_id is not None:
            self.instances[member.instance_id] = member.member_id

    def remove_member(self, member_id: str) -> None:
        """Remove a member."""
        member = self.members.pop(member_id)
        self._count(member, None)
        self._release(member)
        if member.instance_id is not None:
            self.instances.pop(member.instance_id, None)

    def _release(self, member: ConsumerGroupMember) -> None:
        """Remove a member's partitions, except those that another member got since then, in a later epoch."""
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                epochs = self._epochs.get(topic_id, _NONE)
                for partition in partitions:
                    if epochs.get(partition) == member.member_epoch:
                        del epochs[partition]
                if not epochs:
                    self._epochs.pop(topic_id, None)

    def _count(self, before: ConsumerGroupMember | None, after: ConsumerGroupMember | None) -> None:
        if before is not None and after is not None and before.counts_as(after):
            return  # as after most records: only its epoch or its partitions are others
        self.name_counts = counted(self.name_counts, names_by_name(before), names_by_name(after))
        self.regex_counts = counted(self.regex_counts, regex_of(before), regex_of(after))
        self.assignor_counts = counted(self.assignor_counts, assignor_of(before), assignor_of(after))
        self.classic_count += is_classic(after) - is_classic(before)
        protocols = self.classic_protocol_counts
        self.classic_protocol_counts = counted(protocols, _classic_protocols(before), _classic_protocols(after))


def regex_of(member: ConsumerGroupMember | None) -> tuple[str, ...]:
    """Return the regular expression of a member; an empty one counts as none."""
    return (member.topic_regex,) if member is not None and member.topic_regex else ()


def assignor_of(member: ConsumerGroupMember | None) -> tuple[str, ...]:
    return () if member is None or member.assignor is None else (member.assignor,)


def is_classic(member: ConsumerGroupMember | None) -> bool:
    """Return whether the member uses the classic protocol."""
    return member is not None and member.classic is not None


def _classic_protocols(member: ConsumerGroupMember | None) -> tuple[str, ...]:
    return () if member is None or member.classic is None else tuple(name for name, _ in member.classic.protocols)


def names_by_name(member: ConsumerGroupMember | None) -> tuple[str, ...]:
    return () if member is None else member.topic_names


def counted(counts: dict[K, int], removed: Iterable[K], added: Iterable[K]) -> dict[K, int]:
    """Return the counts with some keys one lower and some one higher; the same object if nothing changes."""
    removed, added = tuple(removed), tuple(added)
    if removed == added:
        return counts
    counts = counts.copy()
    for key in added:
        counts[key] = counts.get(key, 0) + 1
    for key in removed:
        if counts.get(key, 0) > 1:
            counts[key] -= 1
        else:
            counts.pop(key, None)
    return counts


def preferred(assignor_counts: Mapping[str, int]) -> str | None:
    """Return the assignor with the most votes; among equals the first in Java's hash table."""
    in_order = HashOrder(STRING, keys=assignor_counts).in_order()
    return max(in_order, key=lambda name: assignor_counts[name], default=None)
