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
from barnabas.broker.coordinator.group.decisions.modern.replay import (
    replay_current,
    replay_member,
    replay_target,
    replay_targets,
)
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import group as log

_OWNS_NOTHING = {"state": MemberState.STABLE, "assigned": NOTHING_OWNED, "pending_revocation": NOTHING_OWNED}


def _epoch(group: ConsumerGroup, key: Stored, value: log.ConsumerGroupMetadataValue) -> None:
    group.group_epoch = value.epoch
    group.metadata_hash = value.metadata_hash


def _partition_metadata(group: ConsumerGroup, key: Stored, value: Stored | None) -> None:
    group.has_partition_metadata = value is not None


def _target_of(value: log.ConsumerGroupTargetAssignmentMemberValue) -> dict[bytes, tuple[int, ...]]:
    return {each.topic_id: tuple(each.partitions) for each in value.topic_partitions}


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
        log.ConsumerGroupMemberMetadataKey: replay_member(ConsumerGroupMember, records.member_of),
        log.ConsumerGroupTargetAssignmentMetadataKey: replay_targets,
        log.ConsumerGroupTargetAssignmentMemberKey: replay_target(_target_of),
        log.ConsumerGroupCurrentMemberAssignmentKey: replay_current(
            ConsumerGroupMember, records.reconciled, _OWNS_NOTHING
        ),
        log.ConsumerGroupRegularExpressionKey: _regex,
    },
)
