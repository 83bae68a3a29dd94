"""Members that leave a streams group, and its timers (KIP-1071): sessions, revocations, and the delayed first target.

The records of a member that left are deleted, and the group epoch rises so that the others get its tasks. With the last
member the assignment epoch rises too, because there is nothing to assign.
"""

from __future__ import annotations

from dataclasses import replace

from barnabas.broker.coordinator.group.decisions.modern.members import (
    LEAVING_FOR_A_WHILE_EPOCH,
    known_member,
    known_static_member,
)
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.group.decisions.streams import records
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.heartbeat import StreamsOutcome
from barnabas.broker.coordinator.group.decisions.streams.model import (
    StreamsConfig,
    StreamsGroupMember,
    StreamsHeartbeatReply,
    StreamsHeartbeatRequest,
    StreamsMemberState,
)
from barnabas.broker.coordinator.group.decisions.streams.targets import new_targets
from barnabas.broker.coordinator.group.decisions.streams.tasks import NO_OWNED_TASKS
from barnabas.broker.coordinator.group.decisions.streams.timers import (
    INITIAL_REBALANCE,
    cancelled_timers,
    is_rebalance,
    rebalance_timer,
    session_timer,
)
from barnabas.broker.coordinator.runtime.outcome import Effect, Outcome, SetTimer, TimerKey
from barnabas.storage.steps import Steps

_AT_ANY_TIME_MS = 0


def leave(group: StreamsGroup, request: StreamsHeartbeatRequest) -> StreamsOutcome:
    """Decide a heartbeat that leaves; the reply is a StreamsHeartbeatReply. UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID."""
    reply = StreamsHeartbeatReply(request.member_id, request.member_epoch)
    volatile = group.volatile
    if request.shutdown_application and volatile.shutdown_member_id is None:
        volatile = replace(volatile, shutdown_member_id=request.member_id)
    if request.instance_id is None:
        member = known_member(group, request.member_id)
    else:
        member = known_static_member(group, request.member_id, request.instance_id)
        if request.member_epoch == LEAVING_FOR_A_WHILE_EPOCH:
            return Outcome(records=(_left_for_a_while(group, member),), volatile=volatile, reply=reply)
    outcome = gone(group, member)
    return outcome._replace(volatile=outcome.volatile or volatile, reply=reply)


def gone(group: StreamsGroup, member: StreamsGroupMember) -> StreamsOutcome:
    """Decide that a member has left."""
    group_id, epoch = group.group_id, group.group_epoch + 1
    written = [
        records.current_gone(group_id, member.member_id),
        records.target_gone(group_id, member.member_id),
        records.member_gone(group_id, member.member_id),
        records.group_stored(
            group_id,
            epoch,
            metadata_hash=group.metadata_hash,
            validated_topology_epoch=group.validated_topology_epoch,
            assignment_configs=group.assignment_configs,
        ),
    ]
    volatile = None
    if len(group.members) == 1:
        written.append(records.targets_computed(group_id, epoch, _AT_ANY_TIME_MS))
        volatile = replace(group.volatile, shutdown_member_id=None)
    return Outcome(records=tuple(written), volatile=volatile, effects=tuple(cancelled_timers(member.member_id)))


def _left_for_a_while(group: StreamsGroup, member: StreamsGroupMember) -> KeyedRecord:
    """Return the record of a temporary leave: the target stays, and commits at any epoch count."""
    active = {each: dict.fromkeys(epochs, 0) for each, epochs in member.assigned.active.items()}
    left = member._replace(
        member_epoch=LEAVING_FOR_A_WHILE_EPOCH,
        assigned=member.assigned._replace(active=active),
        pending_revocation=NO_OWNED_TASKS,
    )
    return records.current_stored(group.group_id, left)


def timer_fired(
    group: StreamsGroup | None, timer: TimerKey, *, config: StreamsConfig, now_ms: int
) -> Steps[StreamsOutcome]:
    """Decide what a timer of the group does now. A timer without a reason any more changes nothing."""
    if group is None:
        return Outcome()
    if timer == INITIAL_REBALANCE:
        return (yield from _first_target(group, config, now_ms))
    member = group.members.get(timer.member_id)
    if member is None or (is_rebalance(timer) and member.state is not StreamsMemberState.UNREVOKED_TASKS):
        return Outcome()
    return gone(group, member)


def _first_target(group: StreamsGroup, config: StreamsConfig, now_ms: int) -> Steps[StreamsOutcome]:
    """Compute the target that the initial rebalance delay has held up, if there are members for it."""
    volatile = replace(group.volatile, is_delayed=False)
    topology = volatile.configured
    if not group.members or topology is None or group.group_epoch <= group.assignment_epoch:
        return Outcome(volatile=volatile)
    targets = yield from new_targets(
        group,
        group.group_epoch,
        topology,
        updated=None,
        task_offsets=volatile.task_offsets,
        config=config,
        now_ms=now_ms,
    )
    return Outcome(records=targets.records, volatile=volatile)


def loaded(group: StreamsGroup, *, config: StreamsConfig) -> StreamsOutcome:
    """Start the session timers, and the timers for revocations, of a group that was loaded from the log."""
    effects: list[Effect] = []
    for member in group.members.values():
        effects.append(SetTimer(session_timer(member.member_id), config.session_timeout_ms))
        if member.state is StreamsMemberState.UNREVOKED_TASKS:
            effects.append(SetTimer(rebalance_timer(member.member_id), member.rebalance_timeout_ms))
    return Outcome(effects=tuple(effects))
