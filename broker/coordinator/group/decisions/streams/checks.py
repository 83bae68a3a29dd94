"""The checks of a StreamsGroupHeartbeat: of the request alone, and of the member that sends it (KIP-1071).

Raise KafkaError with Kafka's codes and messages, in Kafka's order. What only the fields on the wire show (lists of
tasks of one role, regular expressions) is checked before the request becomes a value.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.coordinator.group.decisions.consumer.model import (
    JOINING_EPOCH,
    LEAVING_FOR_A_WHILE_EPOCH,
)
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.model import (
    StreamsGroupMember,
    StreamsHeartbeatRequest,
)
from barnabas.broker.coordinator.group.decisions.streams.tasks import Tasks, TaskSets
from barnabas.broker.coordinator.group.decisions.streams.topics.internal_topics import ConfiguredTopology
from barnabas.protocol.errors import ErrorCode, KafkaError

_JAVA_SPACE = "".join(map(chr, range(33)))  # the characters that String.trim removes
_MUST_REJOIN = "The member must abandon all its partitions and rejoin."


def check_request(request: StreamsHeartbeatRequest) -> None:
    """Raise INVALID_REQUEST or STREAMS_INVALID_TOPOLOGY for a request that is invalid for every group."""
    _check_not_blank(request.member_id, "MemberId")
    _check_not_blank(request.group_id, "GroupId")
    _check_not_blank(request.instance_id, "InstanceId")
    _check_not_blank(request.rack_id, "RackId")
    if request.member_epoch == JOINING_EPOCH:
        _check_joining(request)
        return
    if request.member_epoch == LEAVING_FOR_A_WHILE_EPOCH and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    if request.member_epoch < LEAVING_FOR_A_WHILE_EPOCH:
        raise _invalid(f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2.")
    if request.topology is not None:
        raise _invalid("Topology can only be provided when (re-)joining.")


def _check_joining(request: StreamsHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    for role, tasks in zip(("ActiveTasks", "StandbyTasks", "WarmupTasks"), request.owned or (), strict=False):
        if tasks:
            raise _invalid(f"{role} must be empty when (re-)joining.")
    if request.topology is None:
        raise _invalid("Topology must be non-null when (re-)joining.")
    for subtopology in request.topology.subtopologies.values():
        for topic in subtopology.state_changelog_topics:
            if topic.partitions != 0:
                raise KafkaError(
                    ErrorCode.STREAMS_INVALID_TOPOLOGY,
                    f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                    f"{topic.partitions}.",
                )


def _check_not_blank(value: str | None, field: str) -> None:
    if value is not None and not value.strip(_JAVA_SPACE):
        raise _invalid(f"{field} can't be empty.")


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)


def check_group_size(group: StreamsGroup, member_id: str, instance_id: str | None, max_size: int) -> None:
    """Raise GROUP_MAX_SIZE_REACHED if the group has no room for one more member."""
    if instance_id in group.instances or member_id in group.members:
        return
    if len(group.members) >= max_size:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The streams group has reached its maximum capacity of {max_size} members.",
        )


def check_epoch(member: StreamsGroupMember, received: int, owned: TaskSets | None) -> None:
    """Raise FENCED_MEMBER_EPOCH unless the member names its epoch, or the previous one with tasks that it has.

    The response to the previous heartbeat may have been lost; then the member still is in the previous epoch.
    """
    if received in (JOINING_EPOCH, member.member_epoch):
        return
    is_previous = received == member.previous_member_epoch < member.member_epoch
    if is_previous and owned is not None and member.assigned.includes(owned):
        return
    which = "greater" if received > member.member_epoch else "smaller"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The streams group member has a {which} member epoch ({received}) than the one known by the group "
        f"coordinator ({member.member_epoch}). {_MUST_REJOIN}",
    )


def check_tasks(topology: ConfiguredTopology, owned: TaskSets | None) -> None:
    """Raise INVALID_REQUEST for tasks that the topology does not have. Only of a topology that is ready."""
    for tasks in owned or ():
        _check_role(topology, tasks)


def _check_role(topology: ConfiguredTopology, tasks: Tasks) -> None:
    for subtopology_id, numbers in tasks.items():
        subtopology = topology.subtopologies.get(subtopology_id)
        if subtopology is None:
            raise _invalid(f"Subtopology {subtopology_id} does not exist in the topology.")
        _check_numbers(subtopology_id, numbers, subtopology.tasks_count)


def _check_numbers(subtopology_id: str, numbers: Iterable[int], count: int) -> None:
    for number in numbers:
        if not 0 <= number < count:
            raise _invalid(
                f"Task {number} for subtopology {subtopology_id} is invalid. Number of tasks for this subtopology: "
                f"{count}"
            )


def known_member(group: StreamsGroup, member_id: str) -> StreamsGroupMember:
    """Return the member with this id. Raise UNKNOWN_MEMBER_ID if there is none."""
    member = group.members.get(member_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def known_static_member(group: StreamsGroup, member_id: str, instance_id: str) -> StreamsGroupMember:
    """Return the member with this instance id and member id. Raise UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID."""
    member = group.static_member(instance_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
        )
    return member


def check_released(member: StreamsGroupMember, member_id: str) -> None:
    """Raise UNRELEASED_INSTANCE_ID unless the holder of the instance id has left temporarily."""
    if member.member_epoch != LEAVING_FOR_A_WHILE_EPOCH:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {member.instance_id} cannot join the group because the "
            f"instance id is owned by {member.member_id} member.",
        )
