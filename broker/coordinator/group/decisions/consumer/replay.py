"""The replay of the records of consumer groups: it alone writes their durable state, at run time and at start alike.

A tombstone for an entry that does not exist changes nothing: compaction may have removed the entry. A record with a
value creates its group if necessary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.broker.coordinator.group.decisions.consumer import records
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    NOTHING_OWNED,
    ConsumerGroupMember,
    MemberState,
    ResolvedRegex,
)
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import group as log

NO_ASSIGNMENT_EPOCH = -1
_NO_EPOCH = -1


def replay(groups: dict[str, ConsumerGroup], record: records.ConsumerRecord) -> None:
    """Apply one record to the groups, by id."""
    key: Any = record.key
    group = groups.get(key.group_id)
    if group is None:
        if record.value is None:
            return
        group = groups[key.group_id] = ConsumerGroup(key.group_id)
    if record.value is None and isinstance(key, log.ConsumerGroupMetadataKey):
        del groups[key.group_id]
        return
    group.changes += 1
    _APPLY[type(key)](group, key, record.value)


def _epoch(group: ConsumerGroup, key: Stored, value: log.ConsumerGroupMetadataValue) -> None:
    group.group_epoch = value.epoch
    group.metadata_hash = value.metadata_hash


def _partition_metadata(group: ConsumerGroup, key: Stored, value: Stored | None) -> None:
    group.has_partition_metadata = value is not None


def _member(
    group: ConsumerGroup,
    key: log.ConsumerGroupMemberMetadataKey,
    value: log.ConsumerGroupMemberMetadataValue | None,
) -> None:
    before = group.members.get(key.member_id)
    if value is not None:
        group.put_member(records.member_of(value, before or ConsumerGroupMember(key.member_id)))
    elif before is not None:
        group.remove_member(key.member_id)


def _targets(group: ConsumerGroup, key: Stored, value: log.ConsumerGroupTargetAssignmentMetadataValue | None) -> None:
    group.assignment_epoch = NO_ASSIGNMENT_EPOCH if value is None else value.assignment_epoch
    group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp


def _target(
    group: ConsumerGroup,
    key: log.ConsumerGroupTargetAssignmentMemberKey,
    value: log.ConsumerGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    else:
        group.targets[key.member_id] = {each.topic_id: tuple(each.partitions) for each in value.topic_partitions}


def _current(
    group: ConsumerGroup,
    key: log.ConsumerGroupCurrentMemberAssignmentKey,
    value: log.ConsumerGroupCurrentMemberAssignmentValue | None,
) -> None:
    before = group.members.get(key.member_id)
    if value is not None:
        group.put_member(records.reconciled(value, before or ConsumerGroupMember(key.member_id)))
    elif before is not None:
        nothing = before._replace(
            member_epoch=_NO_EPOCH,
            previous_member_epoch=_NO_EPOCH,
            state=MemberState.STABLE,
            assigned=NOTHING_OWNED,
            pending_revocation=NOTHING_OWNED,
        )
        group.put_member(nothing)


def _regex(
    group: ConsumerGroup,
    key: log.ConsumerGroupRegularExpressionKey,
    value: log.ConsumerGroupRegularExpressionValue | None,
) -> None:
    if value is None:
        group.regexes.pop(key.regular_expression, None)
    else:
        group.regexes[key.regular_expression] = ResolvedRegex(tuple(value.topics), value.version, value.timestamp)


_APPLY: dict[type[Stored], Callable[[ConsumerGroup, Any, Any], None]] = {
    log.ConsumerGroupMetadataKey: _epoch,
    log.ConsumerGroupPartitionMetadataKey: _partition_metadata,
    log.ConsumerGroupMemberMetadataKey: _member,
    log.ConsumerGroupTargetAssignmentMetadataKey: _targets,
    log.ConsumerGroupTargetAssignmentMemberKey: _target,
    log.ConsumerGroupCurrentMemberAssignmentKey: _current,
    log.ConsumerGroupRegularExpressionKey: _regex,
}
