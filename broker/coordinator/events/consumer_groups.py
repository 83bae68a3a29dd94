"""The events of consumer groups (KIP-848): derived from a decision's records, and the group before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from barnabas.broker.coordinator.events.members import rebalance_why, report_gone, report_joined
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerGroupMember, GroupState
from barnabas.broker.coordinator.group.decisions.group_types import AnyRecord
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.runtime.events import kinds
from barnabas.broker.runtime.events.events import Events
from barnabas.protocol.log_records import group as log


class ConsumerSeen(NamedTuple):
    """The changes of a decision to a group, which is changed in place: read before that.

    epoch: the group's new epoch, if it rises. target_epoch: of the assignment, if one is made.
    """

    was_settled: bool
    joined: tuple[str, ...]
    gone: tuple[ConsumerGroupMember, ...]
    epoch: int | None
    target_epoch: int | None


def consumer_seen(group: ConsumerGroup | None, records: Sequence[AnyRecord]) -> ConsumerSeen | None:
    """Return the changes; None for a decision without records of a consumer group."""
    own = [record for record in records if isinstance(record, KeyedRecord)]
    if not own:
        return None
    members = {} if group is None else group.members
    joined: dict[str, None] = {}
    gone: dict[str, ConsumerGroupMember] = {}
    epoch, target_epoch = None, None
    for key, value, _ in own:
        if isinstance(key, log.ConsumerGroupMemberMetadataKey):
            before = members.get(key.member_id)
            if value is None and before is not None:
                gone[key.member_id] = before
            elif value is not None and before is None:
                joined[key.member_id] = None
        elif isinstance(value, log.ConsumerGroupMetadataValue):
            epoch = value.epoch
        elif isinstance(value, log.ConsumerGroupTargetAssignmentMetadataValue):
            target_epoch = value.assignment_epoch
    is_settled = group is None or group.state in (GroupState.STABLE, GroupState.EMPTY)
    return ConsumerSeen(is_settled, tuple(joined), tuple(gone.values()), epoch, target_epoch)


def consumer_happened(
    events: Events,
    group_id: str,
    seen: ConsumerSeen,
    group: ConsumerGroup | None,
    session_timeout_of: Callable[[ConsumerGroupMember], int],
) -> None:
    """Notify listeners. group: its current state, None if it does not exist any more."""
    members = {} if group is None else group.members
    where = {"group": group_id, "protocol": "consumer", "members_count": len(members)}
    for left in seen.gone:
        successor = None if group is None else group.instances.get(left.instance_id or "")
        report_gone(events, group_id, left.member_id, len(members), session_timeout_of(left), successor)
    for member_id in seen.joined:
        if member_id in members:
            report_joined(events, group_id, member_id, members[member_id].client_id, len(members))
    if seen.epoch is not None:
        why = rebalance_why(events.cause, seen.joined, [each.member_id for each in seen.gone])
        events.emit(kinds.REBALANCE_BEGUN, {**where, "generation": seen.epoch, "why": why})
    if seen.target_epoch is not None:
        events.emit(kinds.ASSIGNMENT_MADE, {**where, "generation": seen.target_epoch})
    is_unsettled = seen.epoch is not None or not seen.was_settled
    if is_unsettled and group is not None and group.state in (GroupState.STABLE, GroupState.EMPTY):
        events.emit(kinds.REBALANCE_COMPLETED, {**where, "generation": group.assignment_epoch})
