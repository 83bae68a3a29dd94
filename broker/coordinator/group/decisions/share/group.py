"""A share group (KIP-932) from its records: members, epochs, targets, and which share partitions have a state."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy

from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import SubscriptionType
from barnabas.broker.coordinator.group.decisions.consumer.group import counted
from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.group.decisions.share.model import (
    NO_PARTITIONS,
    SHARE_PROTOCOL,
    SharedPartitions,
    ShareGroupMember,
    ShareGroupState,
    ShareStates,
)
from barnabas.broker.coordinator.group.decisions.share.records import share_group_gone

_FIRST_EPOCH = 1


class ShareGroup(ModernGroup):
    """One share group."""

    group_type = "share"
    protocol_type = SHARE_PROTOCOL

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.group_epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = _FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ShareGroupMember] = {}
        self.targets: dict[str, SharedPartitions] = {}
        self.states = ShareStates()
        self.name_counts: dict[str, int] = {}
        """How many members subscribe to a topic."""

    def __eq__(self, other: object) -> bool:
        """Return whether both are equal in everything that a client could see."""
        if not isinstance(other, ShareGroup):
            return NotImplemented
        return self._visible() == other._visible()

    __hash__ = None  # type: ignore[assignment]  # because it changes

    def _visible(self) -> tuple[object, ...]:
        epochs = self.group_epoch, self.metadata_hash, self.assignment_epoch, self.assignment_timestamp_ms
        return self.group_id, epochs, self.members, self.targets, self.states

    @property
    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    def subscribed_topics(self) -> Collection[str]:
        return self.name_counts.keys()

    def counts_with(self, before: ShareGroupMember, after: Iterable[ShareGroupMember]) -> dict[str, int]:
        """Return how many members subscribe to a topic once `before`, if it is a member, is replaced by `after`."""
        removed = before.topic_names if before.member_id in self.members else ()
        return counted(self.name_counts, removed, (name for member in after for name in member.topic_names))

    def target_of(self, member_id: str) -> SharedPartitions:
        return self.targets.get(member_id, NO_PARTITIONS)

    def tombstones(self) -> list[KeyedRecord]:
        return [*share_group_gone(self.group_id, self.members)]

    # For replay

    def copy(self) -> ShareGroup:
        copied = copy(self)
        copied.members, copied.targets = self.members.copy(), self.targets.copy()
        return copied

    def put_member(self, member: ShareGroupMember) -> None:
        """Add a member, or replace it by its current state."""
        before = self.members.get(member.member_id)
        self.members[member.member_id] = member
        self.name_counts = counted(self.name_counts, () if before is None else before.topic_names, member.topic_names)

    def remove_member(self, member_id: str) -> None:
        """Remove a member."""
        self.name_counts = counted(self.name_counts, self.members.pop(member_id).topic_names, ())


def share_subscription_type(counts: dict[str, int], members_count: int) -> SubscriptionType:
    """Return whether all members subscribe to the same topics."""
    is_same = all(count == members_count for count in counts.values())
    return SubscriptionType.HOMOGENEOUS if is_same else SubscriptionType.HETEROGENEOUS
