# compiled: mypyc
"""The checks of a ConsumerGroupHeartbeat: of the request alone, and of the member that sends it (KIP-848).

Raise KafkaError with Kafka's codes and messages, in Kafka's order.
"""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.consumer.model import (
    Claimed,
    ConsumerConfig,
    ConsumerGroupMember,
    HeartbeatRequest,
    Owned,
)
from barnabas.broker.coordinator.group.decisions.modern.members import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    LEAVING_FOR_A_WHILE_EPOCH,
    check_not_blank,
    fenced,
)
from barnabas.protocol.errors import ErrorCode, KafkaError


def check_request(request: HeartbeatRequest, config: ConsumerConfig) -> None:
    """Raise INVALID_REQUEST or UNSUPPORTED_ASSIGNOR for a request that is invalid for every group."""
    epoch = request.member_epoch
    if request.chooses_member_id or epoch > JOINING_EPOCH or epoch == LEAVING_EPOCH:
        check_not_blank(request.member_id, "MemberId")
    check_not_blank(request.group_id, "GroupId")
    check_not_blank(request.instance_id, "InstanceId")
    check_not_blank(request.rack_id, "RackId")
    if epoch == JOINING_EPOCH:
        _check_joining(request)
    elif epoch == LEAVING_FOR_A_WHILE_EPOCH and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif epoch < LEAVING_FOR_A_WHILE_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    if request.assignor is not None and request.assignor not in config.assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.assignor} is not supported. Supported assignors: {', '.join(config.assignors)}.",
        )


def _check_joining(request: HeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.owned is None or request.owned:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.topic_names is None and request.topic_regex is None:
        raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)


def check_epoch(member: ConsumerGroupMember, received: int, owned: Claimed | None) -> None:
    """Raise FENCED_MEMBER_EPOCH unless the member names its epoch, or the previous one with partitions that it has.

    The response to the previous heartbeat may have been lost; then the member still is in the previous epoch.
    """
    if received in (JOINING_EPOCH, member.member_epoch):
        return
    if received == member.previous_member_epoch < member.member_epoch and _is_within(owned, member.assigned):
        return
    raise fenced("consumer", received, member.member_epoch)


def _is_within(owned: Claimed | None, assigned: Owned) -> bool:
    if owned is None:
        return False
    return all(topic_id in assigned and numbers <= assigned[topic_id].keys() for topic_id, numbers in owned.items())
