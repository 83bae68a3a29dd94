"""The target assignment of a streams group (KIP-1071): when it is computed again, and its records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import member_order, timeline_order
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.group.decisions.streams import records
from barnabas.broker.coordinator.group.decisions.streams.assignors.model import (
    AssignedStreamsMember,
    TaskAssignorError,
    TaskGroup,
)
from barnabas.broker.coordinator.group.decisions.streams.assignors.sticky import sticky
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.model import StreamsConfig, StreamsGroupMember
from barnabas.broker.coordinator.group.decisions.streams.task_offsets import NOTHING_REPORTED, TaskOffsets
from barnabas.broker.coordinator.group.decisions.streams.tasks import TaskSets
from barnabas.broker.coordinator.group.decisions.streams.topics.internal_topics import ConfiguredTopology
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps

_NO_TARGET = TaskSets()


class NewTargets(NamedTuple):
    """The targets of all members, and the records of the changed ones."""

    by_member: dict[str, TaskSets]
    records: tuple[KeyedRecord, ...]


def may_compute(group: StreamsGroup, interval_ms: int, now_ms: int) -> bool:
    """Return whether enough time has passed since the last target (`group.streams.assignment.interval.ms`)."""
    computed_ms = group.assignment_timestamp_ms
    return computed_ms == 0 or interval_ms == 0 or now_ms >= computed_ms + interval_ms


def new_targets(
    group: StreamsGroup,
    epoch: int,
    topology: ConfiguredTopology,
    *,
    updated: StreamsGroupMember | None,
    task_offsets: Mapping[str, TaskOffsets],
    config: StreamsConfig,
    now_ms: int,
) -> Steps[NewTargets]:
    """Compute the targets of the group's `epoch`, with `updated` as the member of its id. UNKNOWN_SERVER_ERROR.

    As long as the topology is not ready, nothing is assigned. In steps: the group must not change in between.
    """
    spec = yield from _spec(group, updated, task_offsets, topology, config)
    if topology.is_ready:
        try:
            targets = yield from sticky(spec)
        except TaskAssignorError as failure:
            why = f"Failed to compute a new target assignment for epoch {epoch}: {failure}"
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, why) from failure
    else:
        targets = dict.fromkeys(spec.members, _NO_TARGET)
    written: list[KeyedRecord] = []
    for member_id, target in targets.items():
        if group.targets.get(member_id) != target:
            written.append(records.target_stored(group.group_id, member_id, target))
            yield
    written.append(records.targets_computed(group.group_id, epoch, now_ms))
    return NewTargets(targets, tuple(written))


def _spec(
    group: StreamsGroup,
    updated: StreamsGroupMember | None,
    task_offsets: Mapping[str, TaskOffsets],
    topology: ConfiguredTopology,
    config: StreamsConfig,
) -> Steps[TaskGroup]:
    """Return the group as the assignor's input. A static member that comes back has the tasks of its former id."""
    member_ids = yield from timeline_order(group.members, group.largest)
    members = {member_id: group.members[member_id] for member_id in member_ids}
    replaced = None if updated is None else group.static_member(updated.instance_id)
    if updated is not None:
        if replaced is not None and replaced.member_id != updated.member_id:
            del members[replaced.member_id]
        members[updated.member_id] = updated
    in_order = yield from member_order(members)
    specs: dict[str, AssignedStreamsMember] = {}
    for member_id in in_order:
        member = members[member_id]
        reported = task_offsets.get(member_id, NOTHING_REPORTED)
        specs[member_id] = AssignedStreamsMember(member.process_id, group.target_of(member), reported.offsets)
    subtopologies = topology.subtopologies
    return TaskGroup(
        specs,
        {subtopology_id: each.tasks_count for subtopology_id, each in subtopologies.items()},
        frozenset(subtopology_id for subtopology_id, each in subtopologies.items() if each.is_stateful),
        config.num_standby_replicas,
    )
