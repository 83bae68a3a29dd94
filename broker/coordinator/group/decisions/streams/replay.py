"""The replay of the records of streams groups (`ReplayTable`)."""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.modern.group import ReplayTable
from barnabas.broker.coordinator.group.decisions.modern.replay import (
    replay_current,
    replay_member,
    replay_target,
    replay_targets,
)
from barnabas.broker.coordinator.group.decisions.streams import records
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.model import StreamsGroupMember, StreamsMemberState
from barnabas.broker.coordinator.group.decisions.streams.tasks import NO_OWNED_TASKS
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import topology_of
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import streams_group as log
from barnabas.storage.steps import finish

_OWNS_NOTHING = {
    "state": StreamsMemberState.STABLE,
    "assigned": NO_OWNED_TASKS,
    "pending_revocation": NO_OWNED_TASKS,
}


def _group(group: StreamsGroup, key: Stored, value: log.StreamsGroupMetadataValue) -> None:
    group.group_epoch = value.epoch
    group.metadata_hash = value.metadata_hash
    group.validated_topology_epoch = value.validated_topology_epoch
    group.assignment_configs = {config.key: config.value for config in value.last_assignment_configs or ()}


def _topology(group: StreamsGroup, key: Stored, value: log.StreamsGroupTopologyValue | None) -> None:
    group.topology = None if value is None else finish(topology_of(value))


STREAMS_REPLAY = ReplayTable(
    StreamsGroup,
    log.StreamsGroupMetadataKey,
    {
        log.StreamsGroupMetadataKey: _group,
        log.StreamsGroupMemberMetadataKey: replay_member(StreamsGroupMember, records.member_of),
        log.StreamsGroupTargetAssignmentMetadataKey: replay_targets,
        log.StreamsGroupTargetAssignmentMemberKey: replay_target(records.target_of),
        log.StreamsGroupCurrentMemberAssignmentKey: replay_current(
            StreamsGroupMember, records.reconciled, _OWNS_NOTHING
        ),
        log.StreamsGroupTopologyKey: _topology,
    },
)
