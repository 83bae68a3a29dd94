"""From one generation to the next: the join phase, the vote, and the end of each.

The barrier: a rebalance is over when every member has rejoined and no assigned id is still to join, or when the longest
rebalance timeout of the members has passed. A rebalance that begins in Empty instead waits `initial_rebalance_delay_ms`
for more members, again and again while members keep joining, at most the first member's rebalance timeout.

These functions work on a `ClassicDraft`; the decisions that call them are in `joining`, `leaving`, `syncing` and
`sessions`.
"""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.classic.draft import JOIN_TIMER, SYNC_TIMER, ClassicDraft
from barnabas.broker.coordinator.group.decisions.classic.model import (
    Group,
    GroupConfig,
    JoinedMember,
    JoinReply,
    SyncReply,
)
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupEvent, ClassicGroupState
from barnabas.broker.coordinator.runtime.outcome import CancelTimer, SetTimer
from barnabas.protocol.errors import ErrorCode


def prepare_rebalance(draft: ClassicDraft, event: ClassicGroupEvent, config: GroupConfig) -> None:
    """Begin a join phase because of `event`."""
    group = draft.group
    was = group.state
    if was is ClassicGroupState.COMPLETING_REBALANCE:
        drop_assignments(draft, ErrorCode.REBALANCE_IN_PROGRESS)
    draft.effects.append(CancelTimer(SYNC_TIMER))
    group.unsynced.clear()
    draft.transition(event)
    group.grew = False
    if was is ClassicGroupState.EMPTY:
        delay_ms = config.initial_rebalance_delay_ms
        group.initial_delay_left_ms = max(group.rebalance_timeout_ms() - delay_ms, 0)
        draft.effects.append(SetTimer(JOIN_TIMER, delay_ms))
        return
    group.initial_delay_left_ms = None
    if everyone_joined(group):
        complete_join_phase(draft)
    else:
        draft.effects.append(SetTimer(JOIN_TIMER, group.rebalance_timeout_ms()))


def drop_assignments(draft: ClassicDraft, error: ErrorCode) -> None:
    """Drop the leader's assignment; `error` completes the SyncGroups that wait for it."""
    for member in list(draft.group.members.values()):
        if member.assignment:
            draft.group.members[member.member_id] = member._replace(assignment=b"")
    for member_id in list(draft.group.members):
        if member_id in draft.group.parked_syncs:
            draft.answer_sync(member_id, SyncReply(error))
            draft.start_session(member_id)  # it may have ended, without effect, while the member waited


def check_barrier(draft: ClassicDraft) -> None:
    """End the join phase if no member is missing. The initial delay ends only by its timer."""
    group = draft.group
    if (
        group.state is ClassicGroupState.PREPARING_REBALANCE
        and group.initial_delay_left_ms is None
        and everyone_joined(group)
    ):
        complete_join_phase(draft)


def everyone_joined(group: Group) -> bool:
    """Return whether the barrier is open."""
    return len(group.joined) == len(group.members) and not group.pending


def join_timer_fired(draft: ClassicDraft, config: GroupConfig) -> None:
    """End the join phase, unless its initial delay is extended because members keep joining."""
    group = draft.group
    left_ms = group.initial_delay_left_ms
    if left_ms and group.grew:
        delay_ms = min(config.initial_rebalance_delay_ms, left_ms)
        # A step of 0 ms would never use the time up; with a delay of 0 the limit is one more turn of the event loop.
        group.initial_delay_left_ms = left_ms - delay_ms if delay_ms else 0
        group.grew = False
        draft.effects.append(SetTimer(JOIN_TIMER, delay_ms))
        return
    complete_join_phase(draft)


def complete_join_phase(draft: ClassicDraft) -> None:
    """Remove members that did not rejoin (not static ones); the others form the next generation."""
    group = draft.group
    for member in list(group.members.values()):
        if member.member_id not in group.joined and member.group_instance_id is None:
            draft.remove_member(member.member_id)
    if group.members and not _elect_joined_leader(group):
        draft.effects.append(SetTimer(JOIN_TIMER, group.rebalance_timeout_ms()))
        return
    draft.effects.append(CancelTimer(JOIN_TIMER))
    group.initial_delay_left_ms = None
    group.grew = False
    group.generation_id += 1
    if not group.members:
        group.protocol_name = group.leader_id = None
        draft.transition(ClassicGroupEvent.NONE_JOINED)
        draft.store_group()
        return
    group.protocol_name = vote(group)
    draft.transition(ClassicGroupEvent.ALL_JOINED)
    group.newcomers.clear()
    group.unsynced = set(group.members)
    for member_id in group.members:
        if member_id in group.joined:
            draft.answer_join(present_generation(group, member_id))
        draft.start_session(member_id)
    draft.effects.append(SetTimer(SYNC_TIMER, group.rebalance_timeout_ms()))


def _elect_joined_leader(group: Group) -> bool:
    """Keep the leader if it joined, else choose the first member that did; return False if no member joined."""
    if group.leader_id in group.joined:
        return True
    chosen = next((member_id for member_id in group.members if member_id in group.joined), None)
    if chosen is not None:
        group.leader_id = chosen
    return chosen is not None


def vote(group: Group) -> str:
    """Return the next generation's protocol: each member votes for its first one among those that all support."""
    size = len(group.members)
    votes: dict[str, int] = {}
    for member in group.members.values():
        choice = next((name for name, _ in member.protocols if group.protocol_counts[name] == size), None)
        if choice is not None:
            votes[choice] = votes.get(choice, 0) + 1
    assert votes, "every member shares a protocol with all others"
    return max(votes, key=votes.__getitem__)


def present_generation(group: Group, member_id: str) -> JoinReply:
    """Return the reply to a member about its current generation; the leader's also lists all members."""
    leads = member_id == group.leader_id
    return JoinReply(
        ErrorCode.NONE,
        member_id,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader_id=group.leader_id or "",
        members=joined_members(group) if leads else (),
    )


def joined_members(group: Group) -> tuple[JoinedMember, ...]:
    """Return all members with their metadata for the selected protocol."""
    return tuple(
        JoinedMember(member.member_id, member.group_instance_id, member.metadata(group.protocol_name))
        for member in group.members.values()
    )


def member_removed(draft: ClassicDraft, config: GroupConfig) -> None:
    """Start a rebalance because a member left, or end a join phase that waited only for that member."""
    if draft.group.state in (ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE):
        prepare_rebalance(draft, ClassicGroupEvent.MEMBER_REMOVED, config)
    else:
        check_barrier(draft)
