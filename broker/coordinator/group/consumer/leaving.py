"""Members that go: they leave, for good or for a while, or are not heard of any more, or do not give up what they must.

Whoever is gone has its records deleted, and the group's epoch rises so that the others get its partitions. With the
last member the assignment's epoch rises along, for there is nothing to assign.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.broker.coordinator.group.consumer import records
from barnabas.broker.coordinator.group.consumer.checks import known_member, known_static_member
from barnabas.broker.coordinator.group.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.consumer.model import (
    LEAVING_FOR_A_WHILE_EPOCH,
    NOTHING_OWNED,
    ConsumerConfig,
    HeartbeatReply,
    HeartbeatRequest,
    Member,
    MemberState,
    Topics,
)
from barnabas.broker.coordinator.group.consumer.regexes import ConsumerOutcome
from barnabas.broker.coordinator.group.consumer.subscriptions import Subscriptions, metadata_hash
from barnabas.broker.coordinator.group.consumer.timers import is_session, rebalance_timer, session_timer
from barnabas.broker.coordinator.runtime.outcome import CancelTimer, Effect, Outcome, SetTimer, TimerKey
from barnabas.protocol.errors import ErrorCode, KafkaError

_AT_ANY_TIME_MS = 0


def leave(group: ConsumerGroup, request: HeartbeatRequest, *, topics: Topics) -> ConsumerOutcome:
    """Decide a heartbeat that says goodbye; the reply is a HeartbeatReply. UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID."""
    reply = HeartbeatReply(request.member_id, request.member_epoch)
    if request.instance_id is None:
        return _gone(group, [known_member(group, request.member_id)], topics)._replace(reply=reply)
    member = known_static_member(group, request.member_id, request.instance_id)
    if request.member_epoch == LEAVING_FOR_A_WHILE_EPOCH:
        return Outcome(records=(_left_for_a_while(group, member),), reply=reply)
    return _gone(group, [member], topics)._replace(reply=reply)


def remove(group: ConsumerGroup, leaving: Iterable[tuple[str, str | None]], *, topics: Topics) -> ConsumerOutcome:
    """Decide a LeaveGroup, as administrators send it: (member id, instance id) each. The reply is a code for each."""
    codes: list[ErrorCode] = []
    gone: dict[str, Member] = {}
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
    return _gone(group, list(gone.values()), topics)._replace(reply=tuple(codes))


def _wanted(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Member:
    if instance_id is None:
        return known_member(group, member_id)
    holder = group.static_member(instance_id)
    return known_static_member(group, member_id or (holder.member_id if holder else ""), instance_id)


def timer_fired(group: ConsumerGroup | None, timer: TimerKey, *, topics: Topics) -> ConsumerOutcome:
    """Decide what a member's timer means now. A timer that outlived its reason changes nothing."""
    member = None if group is None else group.members.get(timer.member_id)
    if group is None or member is None:
        return Outcome()
    if is_session(timer) or (member.state is MemberState.UNREVOKED_PARTITIONS and member.member_epoch >= 0):
        return _gone(group, [member], topics)
    return Outcome()


def loaded(group: ConsumerGroup, *, config: ConsumerConfig) -> ConsumerOutcome:
    """A group was read from the log: its members get fresh sessions, and time to give up what they must."""
    effects: list[Effect] = []
    for member in group.members.values():
        effects.append(SetTimer(session_timer(member.member_id), config.session_timeout_ms))
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            effects.append(SetTimer(rebalance_timer(member.member_id), member.rebalance_timeout_ms))
    return Outcome(effects=tuple(effects))


def _left_for_a_while(group: ConsumerGroup, member: Member) -> records.ConsumerRecord:
    """Its target stays its own; what it has is known to be given up, and may be committed for whatever the epoch."""
    assigned = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in member.assigned.items()}
    left = member._replace(member_epoch=LEAVING_FOR_A_WHILE_EPOCH, assigned=assigned, pending_revocation=NOTHING_OWNED)
    return records.current_stored(group.group_id, left)


def _gone(group: ConsumerGroup, members: Sequence[Member], topics: Topics) -> ConsumerOutcome:
    group_id = group.group_id
    written: list[records.ConsumerRecord] = []
    effects: list[Effect] = []
    for member in members:
        written += (
            records.current_gone(group_id, member.member_id),
            records.target_gone(group_id, member.member_id),
            records.member_gone(group_id, member.member_id),
        )
        effects += (CancelTimer(session_timer(member.member_id)), CancelTimer(rebalance_timer(member.member_id)))
    left = Subscriptions(group, members)
    written += (records.regex_gone(group_id, regex) for regex in group.regex_counts if regex not in left.by_regex)
    epoch = group.group_epoch + 1
    written.append(records.epoch_bumped(group_id, epoch, metadata_hash(left.topics(), topics)))
    if len(group.members) == len(members):
        written.append(records.targets_computed(group_id, epoch, _AT_ANY_TIME_MS))
    return Outcome(records=tuple(written), effects=tuple(effects))
