"""The decisions about SyncGroup and Heartbeat of members of the classic protocol in a consumer group.

No request waits here. A member that gets REBALANCE_IN_PROGRESS rejoins: it moves to the next epoch, revokes partitions,
and gets partitions that other members have revoked. Its rebalance timeout limits the time for this.
"""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.classic.model import SyncReply, SyncRequest
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import NOTHING
from barnabas.broker.coordinator.group.decisions.consumer.group import CONSUMER_PROTOCOL, ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    ClassicMetadata,
    ConsumerGroupMember,
    MemberState,
    Topics,
)
from barnabas.broker.coordinator.group.decisions.consumer.reconciliation import NOT_OWNED
from barnabas.broker.coordinator.group.decisions.consumer.timers import join_timer, session_timer, sync_timer
from barnabas.broker.coordinator.group.decisions.group_types import AnyOutcome
from barnabas.broker.coordinator.group.decisions.migration.embedded import assignment_bytes
from barnabas.broker.coordinator.group.decisions.modern.members import known_member, known_static_member
from barnabas.broker.coordinator.runtime.outcome import CancelTimer, Outcome, SetTimer
from barnabas.protocol.errors import ErrorCode, KafkaError


def sync(group: ConsumerGroup, request: SyncRequest, *, topics: Topics) -> AnyOutcome:
    """Decide a SyncGroup; the reply is a SyncReply. KafkaError."""
    member, classic = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    if request.protocol_type not in (None, CONSUMER_PROTOCOL) or request.protocol_name not in (
        None,
        classic.protocol_name,
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.assignment_epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        return Outcome(reply=SyncReply(ErrorCode.REBALANCE_IN_PROGRESS), effects=(_join_again(member),))
    assignment = assignment_bytes(member.assigned, classic.protocols[0][1], topics)
    return Outcome(
        reply=SyncReply(ErrorCode.NONE, request.protocol_type, request.protocol_name, assignment),
        effects=(CancelTimer(sync_timer(member.member_id)), _still_alive(member, classic)),
    )


def heartbeat(group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int) -> AnyOutcome:
    """Decide a Heartbeat; the reply is an error code. KafkaError if the member is not accepted."""
    member, classic = _classic_member(group, member_id, instance_id)
    _check_generation(member, generation_id)
    if not _has_to_join_again(group, member):
        return Outcome(reply=ErrorCode.NONE, effects=(_still_alive(member, classic),))
    return Outcome(reply=ErrorCode.REBALANCE_IN_PROGRESS, effects=(_still_alive(member, classic), _join_again(member)))


def _has_to_join_again(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    """Return whether there is a newer target, or partitions to revoke, or all that the member waits for is free.

    The next request that needs a target computes it; in a group without consumers that is a member that rejoins.
    """
    has_consumers = group.classic_count < len(group.members)
    newest = group.assignment_epoch if has_consumers else group.group_epoch
    if member.member_epoch < newest or member.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    return member.state is MemberState.UNRELEASED_PARTITIONS and not _waits(group, member)


def _waits(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    """Return whether others still have some partitions of the member's target."""
    return any(
        number not in member.assigned.get(topic_id, ()) and group.epoch_of(topic_id, number) != NOT_OWNED
        for topic_id, numbers in group.targets.get(member.member_id, NOTHING).items()
        for number in numbers
    )


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[ConsumerGroupMember, ClassicMetadata]:
    if instance_id is None:
        member = known_member(group, member_id)
    else:
        member = known_static_member(group, member_id, instance_id)
    if member.classic is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol.")
    return member, member.classic


def _check_generation(member: ConsumerGroupMember, generation_id: int) -> None:
    if generation_id != member.member_epoch:
        raise KafkaError(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {generation_id} is not equal to the member epoch {member.member_epoch} of "
            f"member {member.member_id}.",
        )


def _still_alive(member: ConsumerGroupMember, classic: ClassicMetadata) -> SetTimer:
    return SetTimer(session_timer(member.member_id), classic.session_timeout_ms)


def _join_again(member: ConsumerGroupMember) -> SetTimer:
    return SetTimer(join_timer(member.member_id), member.rebalance_timeout_ms, unless_it_runs=True)
