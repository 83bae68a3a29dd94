"""The replay of the records of consumer groups (`ReplayTable`)."""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.consumer import records
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    NOTHING_OWNED,
    ConsumerGroupMember,
    MemberState,
    ResolvedRegex,
)
from barnabas.broker.coordinator.group.decisions.modern.group import ReplayTable
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import group as log

NO_ASSIGNMENT_EPOCH = -1
_NO_EPOCH = -1


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


CONSUMER_REPLAY = ReplayTable(
    ConsumerGroup,
    log.ConsumerGroupMetadataKey,
    {
        log.ConsumerGroupMetadataKey: _epoch,
        log.ConsumerGroupPartitionMetadataKey: _partition_metadata,
        log.ConsumerGroupMemberMetadataKey: _member,
        log.ConsumerGroupTargetAssignmentMetadataKey: _targets,
        log.ConsumerGroupTargetAssignmentMemberKey: _target,
        log.ConsumerGroupCurrentMemberAssignmentKey: _current,
        log.ConsumerGroupRegularExpressionKey: _regex,
    },
)
