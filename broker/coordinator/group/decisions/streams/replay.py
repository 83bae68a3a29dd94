"""The replay of the records of streams groups (`ReplayTable`)."""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.modern.group import ReplayTable
from barnabas.broker.coordinator.group.decisions.streams import records
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.model import StreamsGroupMember, StreamsMemberState
from barnabas.broker.coordinator.group.decisions.streams.tasks import NO_OWNED_TASKS
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import topology_of
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import streams_group as log

NO_ASSIGNMENT_EPOCH = -1
_NO_EPOCH = -1


def _group(group: StreamsGroup, key: Stored, value: log.StreamsGroupMetadataValue) -> None:
    group.group_epoch = value.epoch
    group.metadata_hash = value.metadata_hash
    group.validated_topology_epoch = value.validated_topology_epoch
    group.assignment_configs = {config.key: config.value for config in value.last_assignment_configs or ()}


def _member(
    group: StreamsGroup, key: log.StreamsGroupMemberMetadataKey, value: log.StreamsGroupMemberMetadataValue | None
) -> None:
    before = group.members.get(key.member_id)
    if value is not None:
        group.put_member(records.member_of(value, before or StreamsGroupMember(key.member_id)))
    elif before is not None:
        group.remove_member(key.member_id)


def _targets(group: StreamsGroup, key: Stored, value: log.StreamsGroupTargetAssignmentMetadataValue | None) -> None:
    group.assignment_epoch = NO_ASSIGNMENT_EPOCH if value is None else value.assignment_epoch
    group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp


def _target(
    group: StreamsGroup,
    key: log.StreamsGroupTargetAssignmentMemberKey,
    value: log.StreamsGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    else:
        group.targets[key.member_id] = records.target_of(value)


def _current(
    group: StreamsGroup,
    key: log.StreamsGroupCurrentMemberAssignmentKey,
    value: log.StreamsGroupCurrentMemberAssignmentValue | None,
) -> None:
    before = group.members.get(key.member_id)
    if value is not None:
        group.put_member(records.reconciled(value, before or StreamsGroupMember(key.member_id)))
    elif before is not None:
        nothing = before._replace(
            member_epoch=_NO_EPOCH,
            previous_member_epoch=_NO_EPOCH,
            state=StreamsMemberState.STABLE,
            assigned=NO_OWNED_TASKS,
            pending_revocation=NO_OWNED_TASKS,
        )
        group.put_member(nothing)


def _topology(group: StreamsGroup, key: Stored, value: log.StreamsGroupTopologyValue | None) -> None:
    group.topology = None if value is None else topology_of(value)


STREAMS_REPLAY = ReplayTable(
    StreamsGroup,
    log.StreamsGroupMetadataKey,
    {
        log.StreamsGroupMetadataKey: _group,
        log.StreamsGroupMemberMetadataKey: _member,
        log.StreamsGroupTargetAssignmentMetadataKey: _targets,
        log.StreamsGroupTargetAssignmentMemberKey: _target,
        log.StreamsGroupCurrentMemberAssignmentKey: _current,
        log.StreamsGroupTopologyKey: _topology,
    },
)
