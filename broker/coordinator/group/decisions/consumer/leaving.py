# compiled: mypyc
"""Members that leave: for good or temporarily, at the end of a session, or because they did not revoke in time.

The records of a member that left are deleted, and the group epoch rises so that the others get its partitions. With the
last member the assignment epoch rises too, because there is nothing to assign.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from barnabas.broker.coordinator.group.decisions.consumer import records
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    NOTHING_OWNED,
    ConsumerConfig,
    ConsumerGroupMember,
    HeartbeatReply,
    HeartbeatRequest,
    MemberState,
    Topics,
)
from barnabas.broker.coordinator.group.decisions.consumer.regexes import ConsumerOutcome
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import Subscriptions, metadata_hash
from barnabas.broker.coordinator.group.decisions.consumer.timers import (
    cancelled_timers,
    is_rebalance,
    rebalance_timer,
    session_timer,
)
from barnabas.broker.coordinator.group.decisions.modern.members import (
    LEAVING_FOR_A_WHILE_EPOCH,
    known_member,
    known_static_member,
)
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.runtime.outcome import Effect, Outcome, SetTimer, TimerKey
from barnabas.protocol.errors import ErrorCode, KafkaError

_AT_ANY_TIME_MS = 0

Fence = Callable[[ConsumerGroup, Sequence[ConsumerGroupMember]], Generator[None, None, Outcome[Any, Any]]]
"""Decides what follows when some members left a group: `gone`, or a decision built on it, in steps."""


def leave(group: ConsumerGroup, request: HeartbeatRequest, *, fence: Fence) -> Generator[None, None, Outcome[Any, Any]]:
    """Decide a heartbeat that leaves; the reply is a HeartbeatReply. UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID."""
    reply = HeartbeatReply(request.member_id, request.member_epoch)
    if request.instance_id is None:
        outcome = yield from fence(group, [known_member(group, request.member_id)])
        return outcome._replace(reply=reply)
    member = known_static_member(group, request.member_id, request.instance_id)
    if request.member_epoch == LEAVING_FOR_A_WHILE_EPOCH:
        return Outcome(records=(_left_for_a_while(group, member),), reply=reply)
    outcome = yield from fence(group, [member])
    return outcome._replace(reply=reply)


def remove(
    group: ConsumerGroup, leaving: Iterable[tuple[str, str | None]], *, fence: Fence
) -> Generator[None, None, Outcome[Any, Any]]:
    """Decide a LeaveGroup, by which classic members leave, and administrators remove members of either protocol.

    leaving: (member id, instance id) each. The reply is a code for each.
    """
    codes: list[ErrorCode] = []
    gone: dict[str, ConsumerGroupMember] = {}
    for member_id, instance_id in leaving:
        code = ErrorCode.NONE
        try:
            member = _wanted(group, member_id, instance_id)
            gone[member.member_id] = member
        except KafkaError as error:
            code = error.code
        codes.append(code)
    if not gone:
        return Outcome(reply=tuple(codes))
    outcome = yield from fence(group, list(gone.values()))
    return outcome._replace(reply=tuple(codes))


def _wanted(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerGroupMember:
    if instance_id is None:
        return known_member(group, member_id)
    holder = group.static_member(instance_id)
    return known_static_member(group, member_id or (holder.member_id if holder else ""), instance_id)


def timer_fired(
    group: ConsumerGroup | None, timer: TimerKey, *, fence: Fence
) -> Generator[None, None, Outcome[Any, Any]]:
    """Decide what a member's timer does now. A timer without a reason any more changes nothing."""
    member = None if group is None else group.members.get(timer.member_id)
    if group is None or member is None:
        return Outcome()
    if is_rebalance(timer) and (member.state is not MemberState.UNREVOKED_PARTITIONS or member.member_epoch < 0):
        return Outcome()
    return (yield from fence(group, [member]))


def loaded(group: ConsumerGroup, *, config: ConsumerConfig) -> ConsumerOutcome:
    """Start the session timers, and the timers for revocations, of a group that was loaded from the log."""
    effects: list[Effect] = []
    for member in group.members.values():
        effects.append(SetTimer(session_timer(member.member_id), config.session_timeout_ms))
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            effects.append(SetTimer(rebalance_timer(member.member_id), member.rebalance_timeout_ms))
    return Outcome(effects=tuple(effects))


def _left_for_a_while(group: ConsumerGroup, member: ConsumerGroupMember) -> KeyedRecord:
    """Return the record of a temporary leave: the target stays; partitions are revoked; commits at any epoch count."""
    assigned = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in member.assigned.items()}
    left = member._replace(member_epoch=LEAVING_FOR_A_WHILE_EPOCH, assigned=assigned, pending_revocation=NOTHING_OWNED)
    return records.current_stored(group.group_id, left)


def gone(group: ConsumerGroup, members: Sequence[ConsumerGroupMember], *, topics: Topics) -> ConsumerOutcome:
    """Decide that some members have left."""
    group_id = group.group_id
    written: list[KeyedRecord] = []
    effects: list[Effect] = []
    for member in members:
        written += (
            records.current_gone(group_id, member.member_id),
            records.target_gone(group_id, member.member_id),
            records.member_gone(group_id, member.member_id),
        )
        effects += cancelled_timers(member.member_id)
    left = Subscriptions(group, members)
    written += (records.regex_gone(group_id, regex) for regex in group.regex_counts if regex not in left.by_regex)
    epoch = group.group_epoch + 1
    written.append(records.epoch_bumped(group_id, epoch, metadata_hash(left.topics(), topics)))
    if len(group.members) == len(members):
        written.append(records.targets_computed(group_id, epoch, _AT_ANY_TIME_MS))
    return Outcome(records=tuple(written), effects=tuple(effects))
