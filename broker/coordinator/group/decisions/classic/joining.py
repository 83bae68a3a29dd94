"""The decisions about JoinGroup: new members, members that rejoin, and static members with a new id (KIP-345).

A JoinGroup that has to wait for the others is parked; the end of the join phase completes it (`rebalance`).

"""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.classic.draft import ClassicDraft, GroupOutcome, join_waiter
from barnabas.broker.coordinator.group.decisions.classic.model import (
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    ClassicGroupMember,
    Group,
    GroupConfig,
    GroupStored,
    JoinReply,
    JoinRequest,
    StoredGroup,
)
from barnabas.broker.coordinator.group.decisions.classic.rebalance import (
    check_barrier,
    joined_members,
    prepare_rebalance,
    present_generation,
    vote,
)
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupEvent, ClassicGroupState, on
from barnabas.broker.coordinator.runtime.outcome import Outcome, Park
from barnabas.broker.coordinator.runtime.transitions import Go, Say
from barnabas.protocol.errors import ErrorCode

_MEMBER_NAME_CHARS_MAX = 255


def join(
    group: Group | None, request: JoinRequest, *, fresh_suffix: str, now_ms: int, config: GroupConfig
) -> GroupOutcome:
    """Decide a JoinGroup.

    `group` is None if there is no group of that name; `fresh_suffix` makes a new member id unique.
    """
    error = _refusal(group, request, config)
    if error is not ErrorCode.NONE:
        shown_id = "" if error is ErrorCode.GROUP_MAX_SIZE_REACHED else request.member_id
        return Outcome(reply=JoinReply(error, shown_id))
    draft = ClassicDraft(group or Group(request.group_id, state_timestamp_ms=now_ms), now_ms)
    if request.member_id:
        outcome = _join_again(draft, request, config)
    else:
        outcome = _join_new(draft, request, fresh_suffix, config)
    if group is None and not outcome.records:
        # As in Kafka, a group exists, durably, from the first request of its first member on.
        draft.records.append(GroupStored(request.group_id, StoredGroup("", 0, None, None, now_ms)))
        outcome = draft.outcome(outcome.reply)
    return outcome


def is_session_timeout_allowed(request: JoinRequest, config: GroupConfig) -> bool:
    """Return whether the broker accepts the session timeout; checked before the group is read."""
    return config.min_session_timeout_ms <= request.session_timeout_ms <= config.max_session_timeout_ms


def _refusal(group: Group | None, request: JoinRequest, config: GroupConfig) -> ErrorCode:
    """Return the error of the request, checked in Kafka's order, or NONE."""
    if group is None:
        if request.member_id:
            return ErrorCode.UNKNOWN_MEMBER_ID
        group = Group(request.group_id)
    if not _has_room(group, request.member_id, config.max_size):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if group.state is ClassicGroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not group.supports(request.protocol_type, request.protocols):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.member_id and request.member_id not in group.pending:
        return group.check_member(request.member_id, request.group_instance_id)
    return ErrorCode.NONE


def _has_room(group: Group, member_id: str, max_size: int) -> bool:
    """Return whether `group.max.size` permits this member. During a rebalance only members that have joined count."""
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        return member_id in group.joined or len(group.joined) < max_size
    if group.state in (ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE):
        return member_id in group.members or len(group.members) < max_size
    return True


def _as_member(request: JoinRequest, member_id: str, assignment: bytes = b"") -> ClassicGroupMember:
    return ClassicGroupMember(
        member_id,
        request.group_instance_id,
        request.client_id,
        request.client_host,
        request.rebalance_timeout_ms,
        request.session_timeout_ms,
        request.protocols,
        assignment,
    )


def _park(draft: ClassicDraft, member_id: str) -> GroupOutcome:
    return draft.outcome(Park(join_waiter(member_id)))


# Newcomers


def _member_id(name: str, fresh_suffix: str) -> str:
    """Return a unique id that contains the member's name; the name is cut so that the id fits a protocol string."""
    return f"{name[:_MEMBER_NAME_CHARS_MAX]}-{fresh_suffix}"


def _join_new(draft: ClassicDraft, request: JoinRequest, fresh_suffix: str, config: GroupConfig) -> GroupOutcome:
    """Decide for a member without an id."""
    if request.group_instance_id is not None:
        member_id = _member_id(request.group_instance_id, fresh_suffix)
        holder = draft.group.instances.get(request.group_instance_id)
        if holder is not None:
            return _replace_static(draft, request, holder, member_id, config)
        return _add(draft, _as_member(request, member_id), request.protocol_type, config)
    member_id = _member_id(request.client_id, fresh_suffix)
    if request.requires_known_member_id:
        draft.add_pending(member_id, request.session_timeout_ms)
        return draft.outcome(JoinReply(ErrorCode.MEMBER_ID_REQUIRED, member_id))
    return _add(draft, _as_member(request, member_id), request.protocol_type, config)


def _add(draft: ClassicDraft, member: ClassicGroupMember, protocol_type: str, config: GroupConfig) -> GroupOutcome:
    """Add a new member; it waits for the end of the join phase."""
    group = draft.group
    if not group.members:
        group.protocol_type = protocol_type
    if group.initial_delay_left_ms is not None:
        group.grew = True
    draft.add_member(member)
    draft.start_session(member.member_id, NEW_MEMBER_JOIN_TIMEOUT_MS)
    if isinstance(on(group.state, ClassicGroupEvent.MEMBER_ADDED), Go):
        prepare_rebalance(draft, ClassicGroupEvent.MEMBER_ADDED, config)
    else:
        check_barrier(draft)
    return _park(draft, member.member_id)


# Members that rejoin


def _join_again(draft: ClassicDraft, request: JoinRequest, config: GroupConfig) -> GroupOutcome:
    """Decide for a member with an id: one that just got its id, or one that rejoins."""
    group = draft.group
    if request.member_id in group.pending:
        return _add(draft, _as_member(request, request.member_id), request.protocol_type, config)
    member = group.members[request.member_id]
    event = ClassicGroupEvent.MEMBER_REJOINED
    if member.protocols != request.protocols:
        event = ClassicGroupEvent.MEMBER_CHANGED
    elif group.leader_id == member.member_id:
        event = ClassicGroupEvent.LEADER_REJOINED
    meaning = on(group.state, event)
    if isinstance(meaning, Say):
        return Outcome(reply=JoinReply(meaning.code, request.member_id))
    if not isinstance(meaning, Go) and group.state is not ClassicGroupState.PREPARING_REBALANCE:
        return Outcome(reply=present_generation(group, member.member_id))
    # The client's own data may change with each join; the assignment stays until the leader sends another, and the
    # instance id stays, though a join need not contain it (and before version 5 cannot).
    again = _as_member(request, member.member_id, member.assignment)
    draft.change_member(again._replace(group_instance_id=member.group_instance_id))
    group.joined.add(member.member_id)
    if isinstance(meaning, Go):
        prepare_rebalance(draft, event, config)
    else:
        check_barrier(draft)
    return _park(draft, member.member_id)


# Static members that come back


def _replace_static(
    draft: ClassicDraft, request: JoinRequest, old_id: str, member_id: str, config: GroupConfig
) -> GroupOutcome:
    """Replace a static member whose instance has another member id: the new id gets its place, the old one is fenced.

    In a stable group whose vote stays the same the other members notice nothing: no rebalance, and the assignment
    stays.

    """
    group = draft.group
    old_leader_id = group.leader_id or ""
    draft.rename_member(old_id, _as_member(request, member_id, group.members[old_id].assignment))
    draft.start_session(member_id)
    event = (
        ClassicGroupEvent.STATIC_REPLACED if vote(group) == group.protocol_name else ClassicGroupEvent.STATIC_CHANGED
    )
    if group.state is ClassicGroupState.STABLE and not isinstance(on(group.state, event), Go):
        draft.store_group()
        return draft.outcome(_unnoticed(group, member_id, old_leader_id, request.may_skip_assignment))
    group.joined.add(member_id)
    if isinstance(on(group.state, event), Go):
        prepare_rebalance(draft, event, config)
    else:
        check_barrier(draft)
    return _park(draft, member_id)


def _unnoticed(group: Group, member_id: str, old_leader_id: str, may_skip_assignment: bool) -> JoinReply:
    """Return the reply to a static member that is back in its place.

    A leader must not assign again: either the reply says so (v9), or it names the leader's old id as the leader, so
    that the member acts as a follower.

    """
    reply = present_generation(group, member_id)
    if not may_skip_assignment:
        return reply._replace(leader_id=old_leader_id, members=())
    if member_id == group.leader_id:
        return reply._replace(skip_assignment=True, members=joined_members(group))
    return reply
