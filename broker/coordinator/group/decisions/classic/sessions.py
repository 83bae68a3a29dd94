# compiled: mypyc
"""Sessions of members: Heartbeat, the ends of sessions, and what a group does right after it was loaded.

A session runs for each member and for each id assigned with MEMBER_ID_REQUIRED. A member that waits in a JoinGroup or
SyncGroup is alive; only new members have a limit there (five minutes).
"""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.classic.draft import (
    JOIN_TIMER,
    SYNC_TIMER,
    ClassicDraft,
    GroupOutcome,
    session_timer,
)
from barnabas.broker.coordinator.group.decisions.classic.model import Group, GroupConfig
from barnabas.broker.coordinator.group.decisions.classic.rebalance import (
    check_barrier,
    join_timer_fired,
    member_removed,
    prepare_rebalance,
)
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupEvent, ClassicGroupState, on
from barnabas.broker.coordinator.group.decisions.classic.syncing import sync_timer_fired
from barnabas.broker.coordinator.runtime.outcome import Outcome, SetTimer, TimerKey
from barnabas.broker.coordinator.runtime.transitions import Say
from barnabas.protocol.errors import ErrorCode


def heartbeat(group: Group | None, member_id: str, group_instance_id: str | None, generation_id: int) -> GroupOutcome:
    """Decide a Heartbeat.

    The reply is an error code; the session restarts even if the member has to rejoin.
    """
    if group is None:
        return Outcome(reply=ErrorCode.UNKNOWN_MEMBER_ID)
    if group.state is ClassicGroupState.DEAD:
        return Outcome(reply=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    error = group.check_generation(member_id, group_instance_id, generation_id)
    if error is not ErrorCode.NONE:
        return Outcome(reply=error)
    meaning = on(group.state, ClassicGroupEvent.HEARTBEAT)
    reply = meaning.code if isinstance(meaning, Say) else ErrorCode.NONE
    return Outcome(reply=reply, effects=(still_alive(group, member_id),))


def still_alive(group: Group, member_id: str) -> SetTimer:
    """Return the effect of a request from a member: its session timer restarts."""
    return SetTimer(session_timer(member_id), group.members[member_id].session_timeout_ms)


def timer_fired(group: Group | None, timer: TimerKey, *, now_ms: int, config: GroupConfig) -> GroupOutcome:
    """Decide what one of the group's timers does now. A timer without a reason any more changes nothing."""
    if group is None:
        return Outcome()
    if timer == JOIN_TIMER and group.state is ClassicGroupState.PREPARING_REBALANCE:
        draft = ClassicDraft(group, now_ms)
        join_timer_fired(draft, config)
        return draft.outcome_anyway()
    if timer == SYNC_TIMER and group.unsynced:
        return sync_timer_fired(group, now_ms=now_ms, config=config)
    if timer.kind == session_timer("").kind:
        return _session_ended(group, timer.member_id, now_ms, config)
    return Outcome()


def _session_ended(group: Group, member_id: str, now_ms: int, config: GroupConfig) -> GroupOutcome:
    draft = ClassicDraft(group, now_ms)
    if member_id in group.pending:
        draft.remove_pending(member_id)
        check_barrier(draft)
        return draft.outcome_anyway()
    if member_id not in group.members or _is_alive_by_waiting(group, member_id):
        return Outcome()
    draft.remove_member(member_id)
    member_removed(draft, config)
    return draft.outcome_anyway()


def _is_alive_by_waiting(group: Group, member_id: str) -> bool:
    waits = member_id in group.joined or member_id in group.parked_syncs
    return waits and member_id not in group.newcomers


def loaded(group: Group, *, now_ms: int, config: GroupConfig) -> GroupOutcome:
    """Start the sessions of a group rebuilt from the log; if it has too many members, they have to rejoin."""
    draft = ClassicDraft(group, now_ms)
    for member_id in draft.group.members:
        draft.start_session(member_id)
    if len(group.members) > config.max_size:
        prepare_rebalance(draft, ClassicGroupEvent.OVERSIZED, config)
    return draft.outcome_anyway()
