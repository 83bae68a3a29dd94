# compiled: mypyc
"""The target assignment of a consumer group: when it is computed again, and its records."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, NamedTuple

from barnabas.broker.coordinator.group.decisions.consumer import records
from barnabas.broker.coordinator.group.decisions.consumer.assignors.by_name import ASSIGNORS
from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import subscription
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import (
    MEMBERS_AT_ONCE,
    NOTHING,
    Assignment,
    AssignorError,
    GroupSpec,
    Subscription,
    SubscriptionType,
    work_of,
)
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import MemberSpec as AssignedMember
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerGroupMember, Topics
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import names_of
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord, encoded
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Pauses

_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor
_NAMES_OF_A_MEMBER = 50
"""With so many names more, a member is counted as one more (`MEMBERS_AT_ONCE`)."""


class Target(NamedTuple):
    """The target of one member, and the records of all changed targets."""

    epoch: int
    assignment: Assignment
    records: tuple[KeyedRecord, ...] = ()


def may_compute(group: ConsumerGroup, interval_ms: int, now_ms: int) -> bool:
    """Return whether enough time has passed since the last target (`group.consumer.assignment.interval.ms`)."""
    computed_ms = group.assignment_timestamp_ms
    return computed_ms == 0 or interval_ms == 0 or now_ms >= computed_ms + interval_ms


def last_target(group: ConsumerGroup, member: ConsumerGroupMember) -> Target:
    """Return the current target."""
    return _new_tuple(Target, (group.assignment_epoch, group.target_of(member), ()))


def new_target(
    group: ConsumerGroup,
    epoch: int,
    updated: ConsumerGroupMember,
    *,
    assignor: str,
    kind: SubscriptionType,
    topics: Topics,
    now_ms: int,
) -> Generator[None, None, Target]:
    """Compute the target of the group's `epoch`, with `updated` as the member of its id, or of its instance id.

    Only the targets that change are written. UNKNOWN_SERVER_ERROR if the assignor fails. Runs in steps: the group must
    not change in between. Topics may, as they may right afterwards: topics that do not exist any more, or yet, are not
    part of the target, and the group's next heartbeat detects that its topics have changed.
    """
    spec = yield from _spec(group, updated, kind, topics)
    try:
        targets = yield from ASSIGNORS[assignor](spec)
    except AssignorError as failure:
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR, f"Failed to compute a new target assignment for epoch {epoch}: {failure}"
        ) from failure
    holder = group.static_member(updated.instance_id)
    written: list[KeyedRecord] = []
    pauses = Pauses(MEMBERS_AT_ONCE)
    for member_id, target in targets.items():
        if not targets[member_id].keys() <= topics.partition_counts.keys():
            targets[member_id] = target = _existing(target, topics)
        is_stored = member_id in group.targets or (holder is not None and member_id == updated.member_id)
        if not is_stored or not _is_same(target, spec.members[member_id].assignment):
            written.append(encoded(records.target_stored(group.group_id, member_id, target)))
            yield
        elif pauses.is_due(work_of(target)):
            yield
    written.append(records.targets_computed(group.group_id, epoch, now_ms))
    return Target(epoch, targets.get(updated.member_id, NOTHING), tuple(written))


def _spec(
    group: ConsumerGroup, updated: ConsumerGroupMember, kind: SubscriptionType, topics: Topics
) -> Generator[None, None, GroupSpec]:
    """Return the group as the assignor's input, with the current topics."""
    in_order = yield from group.members_in_order()
    members = {member.member_id: member for member in in_order}
    replaced = group.static_member(updated.instance_id)
    if replaced is not None and replaced.member_id != updated.member_id:
        del members[replaced.member_id]
    members[updated.member_id] = updated
    counts: dict[bytes, int] = {}
    subscriptions: dict[tuple[str, ...], Subscription] = {}
    spec_members = {}
    pauses = Pauses(MEMBERS_AT_ONCE)
    for member_id, member in members.items():
        names = names_of(member, group.regexes)
        subscribed = subscriptions.get(names)
        if subscribed is None:
            subscribed = subscriptions[names] = yield from subscription(names, topics.ids)
            counts.update((each, topics.partition_counts[each]) for each in subscribed.topic_ids)
        holder = replaced if member is updated and replaced is not None else member
        before = group.targets.get(holder.member_id, NOTHING)
        spec_members[member_id] = AssignedMember(subscribed, before, member.instance_id)
        if pauses.is_due(1 + len(names) // _NAMES_OF_A_MEMBER):
            yield
    return GroupSpec(spec_members, counts, kind)


def _existing(target: Assignment, topics: Topics) -> Assignment:
    """Return the target without topics that were deleted while it was computed."""
    return {topic_id: numbers for topic_id, numbers in target.items() if topic_id in topics.partition_counts}


def _is_same(one: Assignment, other: Assignment) -> bool:
    """Return whether both have the same partitions, in any order."""
    return one.keys() == other.keys() and all(set(numbers) == set(other[each]) for each, numbers in one.items())
