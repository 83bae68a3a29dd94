"""The replay of the records of share groups (`ReplayTable`)."""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.modern.group import ReplayTable
from barnabas.broker.coordinator.group.decisions.modern.replay import (
    replay_current,
    replay_member,
    replay_target,
    replay_targets,
)
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.coordinator.group.decisions.share.model import (
    NO_PARTITIONS,
    SharedPartitions,
    ShareGroupMember,
    ShareStates,
)
from barnabas.broker.coordinator.group.decisions.share.records import (
    partitions_of_topics,
    share_member_of,
    share_states_of,
)
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import share_group as log


def _epoch(group: ShareGroup, key: Stored, value: log.ShareGroupMetadataValue) -> None:
    group.group_epoch = value.epoch
    group.metadata_hash = value.metadata_hash


def _target_of(value: log.ShareGroupTargetAssignmentMemberValue) -> SharedPartitions:
    return partitions_of_topics(value.topic_partitions)


def _reconciled(value: log.ShareGroupCurrentMemberAssignmentValue, member: ShareGroupMember) -> ShareGroupMember:
    return member._replace(
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        assigned=partitions_of_topics(value.assigned_partitions),
    )


def _states(group: ShareGroup, key: Stored, value: log.ShareGroupStatePartitionMetadataValue | None) -> None:
    group.states = ShareStates() if value is None else share_states_of(value)


SHARE_REPLAY = ReplayTable(
    ShareGroup,
    log.ShareGroupMetadataKey,
    {
        log.ShareGroupMemberMetadataKey: replay_member(ShareGroupMember, share_member_of),
        log.ShareGroupMetadataKey: _epoch,
        log.ShareGroupTargetAssignmentMetadataKey: replay_targets,
        log.ShareGroupTargetAssignmentMemberKey: replay_target(_target_of),
        log.ShareGroupCurrentMemberAssignmentKey: replay_current(
            ShareGroupMember, _reconciled, {"assigned": NO_PARTITIONS}
        ),
        log.ShareGroupStatePartitionMetadataKey: _states,
    },
)
