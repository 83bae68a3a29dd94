"""The decisions about LeaveGroup: members leave, or an administrator removes static ones by their instance id."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.coordinator.group.decisions.classic.draft import ClassicDraft, GroupOutcome
from barnabas.broker.coordinator.group.decisions.classic.model import Group, GroupConfig, LeavingMember
from barnabas.broker.coordinator.group.decisions.classic.rebalance import member_removed
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.protocol.errors import ErrorCode


def leave(group: Group | None, leaving: Sequence[LeavingMember], *, now_ms: int, config: GroupConfig) -> GroupOutcome:
    """Decide a LeaveGroup. The reply is one error code per leaving member, in their order."""
    if group is None or group.state is ClassicGroupState.DEAD:
        error = ErrorCode.UNKNOWN_MEMBER_ID if group is None else ErrorCode.COORDINATOR_NOT_AVAILABLE
        return Outcome(reply=tuple(error for _ in leaving))
    draft = ClassicDraft(group, now_ms)
    reply = tuple(_leave_one(draft, member) for member in leaving)
    if ErrorCode.NONE not in reply:
        return Outcome(reply=reply)
    member_removed(draft, config)
    return draft.outcome_anyway(reply)


def _leave_one(draft: ClassicDraft, leaving: LeavingMember) -> ErrorCode:
    group = draft.group
    member_id = leaving.member_id
    if not member_id:
        holder = group.instances.get(leaving.group_instance_id or "")
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        draft.remove_member(holder)
        return ErrorCode.NONE
    if member_id in group.pending:
        draft.remove_pending(member_id)
        return ErrorCode.NONE
    error = group.check_member(member_id, leaving.group_instance_id)
    if error is ErrorCode.NONE:
        draft.remove_member(member_id)
    return error
