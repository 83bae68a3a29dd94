"""The records of streams groups in `__consumer_offsets`: built from values, and parsed to values.

Keys and values are declared in `protocol/log_records/streams_group.py`. Lists are sorted as Kafka sorts them.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping

from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.group.decisions.shared_texts import shared
from barnabas.broker.coordinator.group.decisions.streams.model import (
    StreamsGroupMember,
    StreamsMemberState,
    UserEndpoint,
)
from barnabas.broker.coordinator.group.decisions.streams.tasks import (
    NO_TASKS_SINCE,
    OwnedTasks,
    Tasks,
    TaskSets,
    TasksSince,
    task_map,
)
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import StreamsTopology
from barnabas.broker.coordinator.runtime.partition_for import utf16
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import streams_group as log


def group_stored(
    group_id: str,
    epoch: int,
    *,
    metadata_hash: int,
    validated_topology_epoch: int,
    assignment_configs: Mapping[str, str],
) -> KeyedRecord:
    configs = [log.LastAssignmentConfig(key=key, value=value) for key, value in assignment_configs.items()]
    value = log.StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=configs,
    )
    return KeyedRecord(log.StreamsGroupMetadataKey(group_id=group_id), value)


def member_stored(group_id: str, member: StreamsGroupMember) -> KeyedRecord:
    """Return the record of a member's identity and settings."""
    endpoint = member.user_endpoint
    value = log.StreamsGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else log.StreamsEndpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[
            log.ClientTag(key=key, value=member.client_tags[key]) for key in sorted(member.client_tags, key=utf16)
        ],
    )
    return KeyedRecord(_member_key(group_id, member.member_id), value)


def member_gone(group_id: str, member_id: str) -> KeyedRecord:
    return KeyedRecord(_member_key(group_id, member_id), None)


def targets_computed(group_id: str, epoch: int, timestamp_ms: int) -> KeyedRecord:
    """Return the record that makes this the epoch of all members' targets."""
    value = log.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return KeyedRecord(log.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def target_stored(group_id: str, member_id: str, target: TaskSets) -> KeyedRecord:
    value = log.StreamsGroupTargetAssignmentMemberValue(
        active_tasks=_targets(target.active),
        standby_tasks=_targets(target.standby),
        warmup_tasks=_targets(target.warmup),
    )
    return KeyedRecord(_target_key(group_id, member_id), value)


def target_gone(group_id: str, member_id: str) -> KeyedRecord:
    return KeyedRecord(_target_key(group_id, member_id), None)


def current_stored(group_id: str, member: StreamsGroupMember) -> KeyedRecord:
    """Return the record of the member's tasks and epoch."""
    value = log.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state.value,
        active_tasks=_with_epochs(member.assigned.active),
        standby_tasks=_current(member.assigned.standby),
        warmup_tasks=_current(member.assigned.warmup),
        active_tasks_pending_revocation=_with_epochs(member.pending_revocation.active),
        standby_tasks_pending_revocation=_current(member.pending_revocation.standby),
        warmup_tasks_pending_revocation=_current(member.pending_revocation.warmup),
    )
    return KeyedRecord(_current_key(group_id, member.member_id), value)


def current_gone(group_id: str, member_id: str) -> KeyedRecord:
    return KeyedRecord(_current_key(group_id, member_id), None)


def topology_stored(group_id: str, topology: StreamsTopology) -> KeyedRecord:
    return KeyedRecord(log.StreamsGroupTopologyKey(group_id=group_id), topology.stored())


def everything_gone(group_id: str, member_ids: Collection[str]) -> Generator[KeyedRecord, None, None]:
    """Yield the tombstones of a whole group, in Kafka's order."""
    yield from (current_gone(group_id, member_id) for member_id in member_ids)
    yield from (target_gone(group_id, member_id) for member_id in member_ids)
    yield KeyedRecord(log.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None)
    yield from (member_gone(group_id, member_id) for member_id in member_ids)
    yield KeyedRecord(log.StreamsGroupMetadataKey(group_id=group_id), None)
    yield KeyedRecord(log.StreamsGroupTopologyKey(group_id=group_id), None)


def member_of(value: log.StreamsGroupMemberMetadataValue, before: StreamsGroupMember) -> StreamsGroupMember:
    """Return the member with the fields of its metadata record."""
    endpoint = value.user_endpoint
    return before._replace(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=shared(value.client_id),
        client_host=shared(value.client_host),
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=shared(value.process_id),
        user_endpoint=None if endpoint is None else UserEndpoint(endpoint.host, endpoint.port),
        client_tags={tag.key: tag.value for tag in value.client_tags},
    )


def target_of(value: log.StreamsGroupTargetAssignmentMemberValue) -> TaskSets:
    """Return the target of a record."""
    return TaskSets(_tasks(value.active_tasks), _tasks(value.standby_tasks), _tasks(value.warmup_tasks))


def reconciled(value: log.StreamsGroupCurrentMemberAssignmentValue, before: StreamsGroupMember) -> StreamsGroupMember:
    """Return the member with the tasks and epoch of its record."""
    epoch = value.member_epoch  # for tasks whose record, an older one, does not have their epochs
    return before._replace(
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=StreamsMemberState(value.state),
        assigned=OwnedTasks(_since(value.active_tasks, epoch), _tasks(value.standby_tasks), _tasks(value.warmup_tasks)),
        pending_revocation=OwnedTasks(
            _since(value.active_tasks_pending_revocation, epoch),
            _tasks(value.standby_tasks_pending_revocation),
            _tasks(value.warmup_tasks_pending_revocation),
        ),
    )


def _targets(tasks: Tasks) -> list[log.TargetTasks]:
    return [log.TargetTasks(subtopology_id=each, partitions=sorted(tasks[each])) for each in sorted(tasks, key=utf16)]


def _current(tasks: Tasks) -> list[log.CurrentTasks]:
    return [
        log.CurrentTasks(subtopology_id=each, partitions=sorted(tasks[each]), assignment_epochs=None)
        for each in sorted(tasks, key=utf16)
    ]


def _with_epochs(tasks: TasksSince) -> list[log.CurrentTasks]:
    found = []
    for each in sorted(tasks, key=utf16):
        partitions = sorted(tasks[each])
        epochs = [tasks[each][number] for number in partitions]
        found.append(log.CurrentTasks(subtopology_id=each, partitions=partitions, assignment_epochs=epochs))
    return found


def _tasks(stored: Iterable[log.TargetTasks | log.CurrentTasks]) -> Tasks:
    return task_map((each.subtopology_id, each.partitions) for each in stored)


def _since(stored: Iterable[log.CurrentTasks], epoch: int) -> TasksSince:
    found: dict[str, dict[int, int]] = {}
    for each in stored:
        epochs = each.assignment_epochs or []
        if len(epochs) != len(each.partitions):
            epochs = [epoch] * len(each.partitions)
        if each.partitions:
            found[each.subtopology_id] = dict(zip(each.partitions, epochs, strict=True))
    return found or NO_TASKS_SINCE


def _member_key(group_id: str, member_id: str) -> Stored:
    return log.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id)


def _target_key(group_id: str, member_id: str) -> Stored:
    return log.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)


def _current_key(group_id: str, member_id: str) -> Stored:
    return log.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
