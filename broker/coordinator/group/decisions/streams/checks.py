"""The checks of a StreamsGroupHeartbeat: of the request alone, and of the member that sends it (KIP-1071).

Raise KafkaError with Kafka's codes and messages, in Kafka's order. What only the fields on the wire show (lists of
tasks of one role, regular expressions) is checked before the request becomes a value.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.coordinator.group.decisions.modern.members import (
    JOINING_EPOCH,
    LEAVING_FOR_A_WHILE_EPOCH,
    check_not_blank,
    fenced,
)
from barnabas.broker.coordinator.group.decisions.streams.model import (
    StreamsGroupMember,
    StreamsHeartbeatRequest,
)
from barnabas.broker.coordinator.group.decisions.streams.tasks import Tasks, TaskSets
from barnabas.broker.coordinator.group.decisions.streams.topics.internal_topics import ConfiguredTopology
from barnabas.protocol.errors import ErrorCode, KafkaError


def check_request(request: StreamsHeartbeatRequest) -> None:
    """Raise INVALID_REQUEST or STREAMS_INVALID_TOPOLOGY for a request that is invalid for every group."""
    check_not_blank(request.member_id, "MemberId")
    check_not_blank(request.group_id, "GroupId")
    check_not_blank(request.instance_id, "InstanceId")
    check_not_blank(request.rack_id, "RackId")
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
    owned = (None, None, None) if request.owned is None else request.owned
    for role, tasks in zip(("ActiveTasks", "StandbyTasks", "WarmupTasks"), owned, strict=True):
        if tasks is None or tasks:
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


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)


def check_epoch(member: StreamsGroupMember, received: int, owned: TaskSets | None) -> None:
    """Raise FENCED_MEMBER_EPOCH unless the member names its epoch, or the previous one with tasks that it has.

    The response to the previous heartbeat may have been lost; then the member still is in the previous epoch.
    """
    if received in (JOINING_EPOCH, member.member_epoch):
        return
    is_previous = received == member.previous_member_epoch < member.member_epoch
    if is_previous and owned is not None and member.assigned.includes(owned):
        return
    raise fenced("streams", received, member.member_epoch)


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
