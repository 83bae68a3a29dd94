"""The target assignment of a consumer group: when it is computed anew, and the records of it."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.broker.coordinator.group.consumer import records
from barnabas.broker.coordinator.group.consumer.assignors.by_name import ASSIGNORS, assign_at_once
from barnabas.broker.coordinator.group.consumer.assignors.input_order import subscription
from barnabas.broker.coordinator.group.consumer.assignors.model import (
    NOTHING,
    Assignment,
    AssignorError,
    GroupSpec,
    Subscription,
    SubscriptionType,
)
from barnabas.broker.coordinator.group.consumer.assignors.model import Member as AssignedMember
from barnabas.broker.coordinator.group.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.consumer.model import Member, Topics
from barnabas.broker.coordinator.group.consumer.subscriptions import names_of
from barnabas.protocol.errors import ErrorCode, KafkaError


class Target(NamedTuple):
    """What one member is to have, and the records that say so of all."""

    epoch: int
    assignment: Assignment
    records: tuple[records.ConsumerRecord, ...] = ()


def may_compute(group: ConsumerGroup, interval_ms: int, now_ms: int) -> bool:
    """Whether enough time has passed since the last target (`group.consumer.assignment.interval.ms`)."""
    computed_ms = group.assignment_timestamp_ms
    return computed_ms == 0 or interval_ms == 0 or now_ms >= computed_ms + interval_ms


def last_target(group: ConsumerGroup, member: Member) -> Target:
    """The target as it is."""
    return Target(group.assignment_epoch, group.target_of(member))


def new_target(
    group: ConsumerGroup,
    epoch: int,
    updated: Member,
    *,
    assignor: str,
    kind: SubscriptionType,
    topics: Topics,
    now_ms: int,
) -> Target:
    """The target of the group's `epoch`, with `updated` as the member of its id, or of its instance id.

    Only the targets that change are written. UNKNOWN_SERVER_ERROR where the assignor gives up.
    """
    members = {member.member_id: member for member in group.members_in_order()}
    before = {member_id: group.targets.get(member_id, NOTHING) for member_id in members}
    replaced = group.static_member(updated.instance_id)
    if replaced is not None and replaced.member_id != updated.member_id:
        del members[replaced.member_id]
        before[updated.member_id] = before.pop(replaced.member_id)
    members[updated.member_id] = updated
    written = {*group.targets, updated.member_id} if replaced is not None else set(group.targets)
    subscriptions: dict[tuple[str, ...], Subscription] = {}
    spec_members = {}
    for member_id, member in members.items():
        names = names_of(member, group.regexes)
        if names not in subscriptions:
            subscriptions[names] = subscription(names, topics.ids)
        spec_members[member_id] = AssignedMember(
            subscriptions[names], before.get(member_id, NOTHING), member.instance_id
        )
    spec = GroupSpec(spec_members, topics.partition_counts, kind)
    try:
        targets = assign_at_once(ASSIGNORS[assignor], spec)
    except AssignorError as failure:
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR, f"Failed to compute a new target assignment for epoch {epoch}: {failure}"
        ) from failure
    changed = [
        records.target_stored(group.group_id, member_id, target)
        for member_id, target in targets.items()
        if member_id not in written or not _is_same(target, before.get(member_id, NOTHING))
    ]
    done = records.targets_computed(group.group_id, epoch, now_ms)
    return Target(epoch, targets.get(updated.member_id, NOTHING), (*changed, done))


def _is_same(one: Assignment, other: Assignment) -> bool:
    """Whether both have the same partitions, whatever the order."""
    return one.keys() == other.keys() and all(set(numbers) == set(other[each]) for each, numbers in one.items())
