"""The replay of the records of share groups (`ReplayTable`)."""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.modern.group import ReplayTable
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.coordinator.group.decisions.share.model import NO_PARTITIONS, ShareGroupMember, ShareStates
from barnabas.broker.coordinator.group.decisions.share.records import (
    partitions_of_topics,
    share_member_of,
    share_states_of,
)
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import share_group as log

_NO_EPOCH = -1


def _epoch(group: ShareGroup, key: Stored, value: log.ShareGroupMetadataValue) -> None:
    group.group_epoch = value.epoch
    group.metadata_hash = value.metadata_hash


def _member(
    group: ShareGroup, key: log.ShareGroupMemberMetadataKey, value: log.ShareGroupMemberMetadataValue | None
) -> None:
    before = group.members.get(key.member_id)
    if value is not None:
        group.put_member(share_member_of(value, before or ShareGroupMember(key.member_id)))
    elif before is not None:
        group.remove_member(key.member_id)


def _targets(group: ShareGroup, key: Stored, value: log.ShareGroupTargetAssignmentMetadataValue | None) -> None:
    group.assignment_epoch = _NO_EPOCH if value is None else value.assignment_epoch
    group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp


def _target(
    group: ShareGroup,
    key: log.ShareGroupTargetAssignmentMemberKey,
    value: log.ShareGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    else:
        group.targets[key.member_id] = partitions_of_topics(value.topic_partitions)


def _current(
    group: ShareGroup,
    key: log.ShareGroupCurrentMemberAssignmentKey,
    value: log.ShareGroupCurrentMemberAssignmentValue | None,
) -> None:
    before = group.members.get(key.member_id)
    if value is not None:
        member = (before or ShareGroupMember(key.member_id))._replace(
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            assigned=partitions_of_topics(value.assigned_partitions),
        )
        group.put_member(member)
    elif before is not None:
        left = before._replace(member_epoch=_NO_EPOCH, previous_member_epoch=_NO_EPOCH, assigned=NO_PARTITIONS)
        group.put_member(left)


def _states(group: ShareGroup, key: Stored, value: log.ShareGroupStatePartitionMetadataValue | None) -> None:
    group.states = ShareStates() if value is None else share_states_of(value)


SHARE_REPLAY = ReplayTable(
    ShareGroup,
    log.ShareGroupMetadataKey,
    {
        log.ShareGroupMemberMetadataKey: _member,
        log.ShareGroupMetadataKey: _epoch,
        log.ShareGroupTargetAssignmentMetadataKey: _targets,
        log.ShareGroupTargetAssignmentMemberKey: _target,
        log.ShareGroupCurrentMemberAssignmentKey: _current,
        log.ShareGroupStatePartitionMetadataKey: _states,
    },
)
