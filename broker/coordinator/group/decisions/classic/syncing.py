"""The decisions about SyncGroup: the leader's assignment is stored, and each member gets its part."""

from __future__ import annotations

from functools import partial

from barnabas.broker.coordinator.group.decisions.classic.draft import (
    SYNC_TIMER,
    ClassicDraft,
    GroupOutcome,
    sync_waiter,
)
from barnabas.broker.coordinator.group.decisions.classic.model import Group, GroupConfig, SyncReply, SyncRequest
from barnabas.broker.coordinator.group.decisions.classic.rebalance import drop_assignments, prepare_rebalance
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupEvent, ClassicGroupState, on
from barnabas.broker.coordinator.runtime.outcome import CancelTimer, Outcome, Park
from barnabas.broker.coordinator.runtime.transitions import Say
from barnabas.protocol.errors import ErrorCode


def sync(group: Group | None, request: SyncRequest, *, now_ms: int, config: GroupConfig) -> GroupOutcome:
    """Decide a SyncGroup."""
    error = _refusal(group, request)
    if error is not ErrorCode.NONE or group is None:
        return Outcome(reply=SyncReply(error))
    if group.state is ClassicGroupState.STABLE:
        draft = ClassicDraft(group, now_ms)
        _has_synced(draft, request.member_id)
        draft.start_session(request.member_id)
        return draft.outcome(_assignment_of(group, request.member_id))
    draft, parked = _parked(group, request.member_id, now_ms)
    if request.member_id != group.leader_id:
        return draft.outcome(parked)
    _assign(draft, dict(request.assignments))
    return draft.outcome(parked, or_else=partial(_assignment_lost, group, request.member_id, now_ms, config))


def _refusal(group: Group | None, request: SyncRequest) -> ErrorCode:
    """Return the error of the request, checked in Kafka's order, or NONE."""
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.state is ClassicGroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = group.check_generation(request.member_id, request.group_instance_id, request.generation_id)
    if error is not ErrorCode.NONE:
        return error
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.protocol_name is not None and request.protocol_name != group.protocol_name:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    meaning = on(group.state, ClassicGroupEvent.SYNC)
    return meaning.code if isinstance(meaning, Say) else ErrorCode.NONE


def _parked(group: Group, member_id: str, now_ms: int) -> tuple[ClassicDraft, Park]:
    """Return a draft in which the member waits for the leader's assignment, and the reply that parks it."""
    draft = ClassicDraft(group, now_ms)
    _has_synced(draft, member_id)
    draft.group.parked_syncs.add(member_id)
    return draft, Park(sync_waiter(member_id))


def _has_synced(draft: ClassicDraft, member_id: str) -> None:
    draft.group.unsynced.discard(member_id)
    if not draft.group.unsynced:
        draft.effects.append(CancelTimer(SYNC_TIMER))


def _assign(draft: ClassicDraft, assignments: dict[str, bytes]) -> None:
    """Store the leader's assignment (empty for members it omitted) and complete the SyncGroups that wait for it."""
    group = draft.group
    for member_id, member in list(group.members.items()):
        group.members[member_id] = member._replace(assignment=assignments.get(member_id, b""))
    draft.transition(ClassicGroupEvent.ASSIGNED)
    draft.store_group()
    for member_id in group.members:
        if member_id in group.parked_syncs:
            draft.answer_sync(member_id, _assignment_of(group, member_id))
            draft.start_session(member_id)


def _assignment_of(group: Group, member_id: str) -> SyncReply:
    return SyncReply(ErrorCode.NONE, group.protocol_type, group.protocol_name, group.members[member_id].assignment)


def _assignment_lost(group: Group, leader_id: str, now_ms: int, config: GroupConfig, code: ErrorCode) -> GroupOutcome:
    """Complete all waiting SyncGroups, the leader's too, with the error of the failed write; all members rejoin."""
    draft, parked = _parked(group, leader_id, now_ms)
    drop_assignments(draft, code)
    prepare_rebalance(draft, ClassicGroupEvent.ASSIGNMENT_LOST, config)
    return draft.outcome(parked)


def sync_timer_fired(group: Group, *, now_ms: int, config: GroupConfig) -> GroupOutcome:
    """Remove the members that did not send SyncGroup in time; the group rebalances without them."""
    draft = ClassicDraft(group, now_ms)
    for member_id in list(draft.group.members):
        if member_id in draft.group.unsynced:
            draft.remove_member(member_id)
    prepare_rebalance(draft, ClassicGroupEvent.SYNC_OVERDUE, config)
    return draft.outcome_anyway()
