"""A decision in progress: a working copy of the group, with its records and effects.

From outside a decision stays a function: it gets a `Group`, works on the copy in a `ClassicDraft`, and returns the
draft's `Outcome`. The code that keeps the group's sets, counts and timers consistent with its members is here, and only
here.

"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.broker.coordinator.group.decisions.classic.model import (
    ClassicGroupMember,
    Group,
    GroupRecord,
    GroupStored,
    JoinReply,
    StoredGroup,
    StoredMember,
    SyncReply,
)
from barnabas.broker.coordinator.group.decisions.classic.pending_ids import PENDING_IDS_MAX
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupEvent, ClassicGroupState, on
from barnabas.broker.coordinator.runtime.outcome import (
    CancelTimer,
    CompleteRequest,
    Effect,
    Outcome,
    SetTimer,
    TimerKey,
    Waiter,
)
from barnabas.broker.coordinator.runtime.transitions import Go
from barnabas.protocol.errors import ErrorCode

GroupOutcome = Outcome[GroupRecord, Group]

JOIN_TIMER = TimerKey("join")
"""The end of the join phase."""
SYNC_TIMER = TimerKey("sync")
"""The time limit for the SyncGroup of each member of the generation."""


def session_timer(member_id: str) -> TimerKey:
    """Return the key of the session timer of a member, or of the holder of a pending id."""
    return TimerKey("session", member_id)


def join_waiter(member_id: str) -> Waiter:
    return Waiter("join", member_id)


def sync_waiter(member_id: str) -> Waiter:
    return Waiter("sync", member_id)


class ClassicDraft:
    """One decision in progress."""

    def __init__(self, group: Group, now_ms: int) -> None:
        self.group = group.copy()
        self.now_ms = now_ms
        self.records: list[GroupRecord] = []
        self.effects: list[Effect] = []

    def outcome(self, reply: Any = None, or_else: Callable[[ErrorCode], GroupOutcome] | None = None) -> GroupOutcome:
        """Return the decision so far."""
        return Outcome(
            records=tuple(self.records),
            volatile=self.group,
            reply=reply,
            effects=tuple(self.effects),
            or_else=or_else,
        )

    def outcome_anyway(self, reply: Any = None) -> GroupOutcome:
        """Return the decision so far, which is carried out even if its records cannot be written.

        For decisions by a timer or a member that the group cannot refuse: a member has left. The log then still has the
        previous generation; a restart brings its members back, and their sessions end once more.

        """
        outcome = self.outcome(reply)
        unwritten = outcome._replace(records=())
        return outcome._replace(or_else=lambda _: unwritten)

    def transition(self, event: ClassicGroupEvent) -> ClassicGroupState:
        """Change the group to the state that this event leads to."""
        meaning = on(self.group.state, event)
        assert isinstance(meaning, Go), f"{event.name} in {self.group.state.value} is {meaning}, not a transition"
        self.group.state = meaning.state
        self.group.state_timestamp_ms = self.now_ms
        return self.group.state

    # Members

    def add_member(self, member: ClassicGroupMember) -> None:
        """Add a new member, which waits in the join phase."""
        group = self.group
        if not group.members:
            group.leader_id = member.member_id
        group.members[member.member_id] = self._alike(member)
        group.pending.discard(member.member_id)
        if member.group_instance_id is not None:
            group.instances[member.group_instance_id] = member.member_id
        group.newcomers.add(member.member_id)
        group.joined.add(member.member_id)
        self._count_protocols(member, 1)

    def change_member(self, member: ClassicGroupMember) -> None:
        """Replace a member by itself with other protocols, timeouts or assignment."""
        self._count_protocols(self.group.members[member.member_id], -1)
        self.group.members[member.member_id] = self._alike(member)
        self._count_protocols(member, 1)

    def rename_member(self, old_id: str, member: ClassicGroupMember) -> None:
        """Give a static member its new id, in the old one's place; requests of the old id that wait are fenced."""
        group = self.group
        self.answer_waiting(old_id, ErrorCode.FENCED_INSTANCE_ID)
        self.effects.append(CancelTimer(session_timer(old_id)))
        self._count_protocols(group.members[old_id], -1)
        group.members = {
            (member.member_id if member_id == old_id else member_id): (member if member_id == old_id else other)
            for member_id, other in group.members.items()
        }
        self._count_protocols(member, 1)
        assert member.group_instance_id is not None, "only static members change their id"
        group.instances[member.group_instance_id] = member.member_id
        if group.leader_id == old_id:
            group.leader_id = member.member_id
        for ids in (group.newcomers, group.unsynced):
            if old_id in ids:
                ids.remove(old_id)
                ids.add(member.member_id)

    def remove_member(self, member_id: str) -> None:
        """Remove a member; its waiting requests get UNKNOWN_MEMBER_ID."""
        group = self.group
        self.answer_waiting(member_id, ErrorCode.UNKNOWN_MEMBER_ID)
        self.effects.append(CancelTimer(session_timer(member_id)))
        member = group.members.pop(member_id)
        self._count_protocols(member, -1)
        if member.group_instance_id is not None and group.instances.get(member.group_instance_id) == member_id:
            del group.instances[member.group_instance_id]
        group.newcomers.discard(member_id)
        group.unsynced.discard(member_id)
        if group.leader_id == member_id:
            group.leader_id = next(iter(group.members), None)

    def add_pending(self, member_id: str, session_timeout_ms: int) -> None:
        """Store an assigned id, for one session timeout; if there are too many, the oldest is dropped."""
        pending = self.group.pending
        if len(pending) >= PENDING_IDS_MAX:
            self.remove_pending(next(iter(pending)))
        pending.add(member_id)
        self.effects.append(SetTimer(session_timer(member_id), session_timeout_ms))

    def remove_pending(self, member_id: str) -> None:
        """Drop a pending id: its holder did not join in time, or left, or too many newer ids were assigned."""
        self.group.pending.discard(member_id)
        self.effects.append(CancelTimer(session_timer(member_id)))

    def _alike(self, member: ClassicGroupMember) -> ClassicGroupMember:
        """Return the member, sharing the first member's protocols: most members of a group have equal ones."""
        first = next(iter(self.group.members.values()), member)
        return member._replace(protocols=first.protocols) if first.protocols == member.protocols else member

    def _count_protocols(self, member: ClassicGroupMember, step: int) -> None:
        counts = self.group.protocol_counts
        for name in {name for name, _ in member.protocols}:
            count = counts.get(name, 0) + step
            if count:
                counts[name] = count
            else:
                del counts[name]

    # Waiting requests

    def answer_join(self, reply: JoinReply, member_id: str | None = None) -> None:
        """Complete the parked JoinGroup of a member."""
        member_id = reply.member_id if member_id is None else member_id
        self.group.joined.discard(member_id)
        self.effects.append(CompleteRequest(join_waiter(member_id), reply))

    def answer_sync(self, member_id: str, reply: SyncReply) -> None:
        """Complete the parked SyncGroup of a member."""
        self.group.parked_syncs.discard(member_id)
        self.effects.append(CompleteRequest(sync_waiter(member_id), reply))

    def answer_waiting(self, member_id: str, error: ErrorCode) -> None:
        """Complete whatever this member waits for with this error."""
        if member_id in self.group.joined:
            refused_id = "" if error is ErrorCode.UNKNOWN_MEMBER_ID else member_id
            self.answer_join(JoinReply(error, refused_id), member_id)
        if member_id in self.group.parked_syncs:
            self.answer_sync(member_id, SyncReply(error))

    # Timers and records

    def start_session(self, member_id: str, timeout_ms: int | None = None) -> None:
        """Restart a member's session, with its own timeout or the given one."""
        delay_ms = self.group.members[member_id].session_timeout_ms if timeout_ms is None else timeout_ms
        self.effects.append(SetTimer(session_timer(member_id), delay_ms))

    def store_group(self) -> None:
        """Write the group in its current state: the generation is finished."""
        self.records.append(GroupStored(self.group.group_id, as_stored(self.group)))


def as_stored(group: Group) -> StoredGroup:
    """Return the durable form of a group."""
    return StoredGroup(
        protocol_type=group.protocol_type,
        generation_id=group.generation_id,
        protocol_name=group.protocol_name,
        leader_id=group.leader_id,
        state_timestamp_ms=group.state_timestamp_ms,
        members=tuple(
            StoredMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.session_timeout_ms,
                member.metadata(group.protocol_name),
                member.assignment,
            )
            for member in group.members.values()
        ),
    )


def stored_state(stored: StoredGroup | None) -> ClassicGroupState:
    """Return the state that a durable group is restored in; None is as in `from_stored`."""
    return ClassicGroupState.STABLE if stored is not None and stored.members else ClassicGroupState.EMPTY


def from_stored(group_id: str, stored: StoredGroup | None) -> Group:
    """Return the working group of a durable one after a load: Stable or Empty.

    None: a group that only has offsets, or nothing.

    """
    if stored is None:
        return Group(group_id)
    group = Group(
        group_id,
        state=stored_state(stored),
        state_timestamp_ms=stored.state_timestamp_ms,
        generation_id=stored.generation_id,
        protocol_type=stored.protocol_type,
        protocol_name=stored.protocol_name,
        leader_id=stored.leader_id,
    )
    for member in stored.members:
        protocols = ((stored.protocol_name or "", member.subscription),)
        group.members[member.member_id] = ClassicGroupMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            session_timeout_ms=member.session_timeout_ms,
            protocols=protocols,
            assignment=member.assignment,
        )
        if member.group_instance_id is not None:
            group.instances[member.group_instance_id] = member.member_id
    if group.members:
        group.protocol_counts = {stored.protocol_name or "": len(group.members)}
    return group
