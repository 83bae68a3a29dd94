"""A decision while it is being made: a working copy of the group, and the records and effects that go with it.

From outside a decision stays a function: it gets a `Group`, works on the copy in a `Draft`, and returns the draft's
`Outcome`. Everything that keeps the group's sets, counts and timers in step with its members is here, and only here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.broker.coordinator.group.decisions.classic.model import (
    Group,
    GroupRecord,
    GroupStored,
    JoinReply,
    Member,
    StoredGroup,
    StoredMember,
    SyncReply,
)
from barnabas.broker.coordinator.group.decisions.classic.pending_ids import PENDING_IDS_MAX
from barnabas.broker.coordinator.group.decisions.classic.states import Event, State, on
from barnabas.broker.coordinator.runtime.outcome import Answer, CancelTimer, Effect, Outcome, SetTimer, TimerKey, Waiter
from barnabas.broker.coordinator.runtime.transitions import Go
from barnabas.protocol.errors import ErrorCode

GroupOutcome = Outcome[GroupRecord, Group]

JOIN_TIMER = TimerKey("join")
"""The end of the join phase."""
SYNC_TIMER = TimerKey("sync")
"""By when each member of the generation has asked for its assignment."""


def session_timer(member_id: str) -> TimerKey:
    """By when the member, or the holder of a pending id, has to be heard of."""
    return TimerKey("session", member_id)


def join_waiter(member_id: str) -> Waiter:
    return Waiter("join", member_id)


def sync_waiter(member_id: str) -> Waiter:
    return Waiter("sync", member_id)


class Draft:
    """One decision while it is being made."""

    def __init__(self, group: Group, now_ms: int) -> None:
        self.group = group.copy()
        self.now_ms = now_ms
        self.records: list[GroupRecord] = []
        self.effects: list[Effect] = []

    def outcome(self, reply: Any = None, or_else: Callable[[ErrorCode], GroupOutcome] | None = None) -> GroupOutcome:
        """The decision as it stands."""
        return Outcome(
            records=tuple(self.records),
            volatile=self.group,
            reply=reply,
            effects=tuple(self.effects),
            or_else=or_else,
        )

    def outcome_anyway(self, reply: Any = None) -> GroupOutcome:
        """The decision as it stands, carried out even when its records cannot be written.

        For what time or a member decided and the group cannot refuse: somebody is gone. The log then still knows the
        generation before; a restart brings its members back, and their sessions end once more.
        """
        outcome = self.outcome(reply)
        unwritten = outcome._replace(records=())
        return outcome._replace(or_else=lambda _: unwritten)

    def transition(self, event: Event) -> State:
        """Take the group to the state this event leads to."""
        meaning = on(self.group.state, event)
        assert isinstance(meaning, Go), f"{event.name} in {self.group.state.value} is {meaning}, not a transition"
        self.group.state = meaning.state
        self.group.state_timestamp_ms = self.now_ms
        return self.group.state

    # Members

    def add_member(self, member: Member) -> None:
        """A new member, waiting in the join phase."""
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

    def change_member(self, member: Member) -> None:
        """The same member with other protocols, timeouts or assignment."""
        self._count_protocols(self.group.members[member.member_id], -1)
        self.group.members[member.member_id] = self._alike(member)
        self._count_protocols(member, 1)

    def rename_member(self, old_id: str, member: Member) -> None:
        """A static member under its new id, in the old one's place; what the old id waits for is fenced."""
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
        """The member is gone; whatever it waits for is answered UNKNOWN_MEMBER_ID."""
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
        """The id is handed out, for as long as a session; if it is one too many, the oldest is forgotten for it."""
        pending = self.group.pending
        if len(pending) >= PENDING_IDS_MAX:
            self.remove_pending(next(iter(pending)))
        pending.add(member_id)
        self.effects.append(SetTimer(session_timer(member_id), session_timeout_ms))

    def remove_pending(self, member_id: str) -> None:
        """The holder of this id did not join in time, or gave it back; or too many were handed out after it."""
        self.group.pending.discard(member_id)
        self.effects.append(CancelTimer(session_timer(member_id)))

    def _alike(self, member: Member) -> Member:
        """The member, sharing what it supports with the first one: most members of a group say the same there."""
        first = next(iter(self.group.members.values()), member)
        return member._replace(protocols=first.protocols) if first.protocols == member.protocols else member

    def _count_protocols(self, member: Member, step: int) -> None:
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
        self.effects.append(Answer(join_waiter(member_id), reply))

    def answer_sync(self, member_id: str, reply: SyncReply) -> None:
        """Complete the parked SyncGroup of a member."""
        self.group.parked_syncs.discard(member_id)
        self.effects.append(Answer(sync_waiter(member_id), reply))

    def answer_waiting(self, member_id: str, error: ErrorCode) -> None:
        """Whatever this member waits for, it gets this error."""
        if member_id in self.group.joined:
            refused_id = "" if error is ErrorCode.UNKNOWN_MEMBER_ID else member_id
            self.answer_join(JoinReply(error, refused_id), member_id)
        if member_id in self.group.parked_syncs:
            self.answer_sync(member_id, SyncReply(error))

    # Timers and records

    def start_session(self, member_id: str, timeout_ms: int | None = None) -> None:
        """The member was heard of: its session, or the given time, begins anew."""
        delay_ms = self.group.members[member_id].session_timeout_ms if timeout_ms is None else timeout_ms
        self.effects.append(SetTimer(session_timer(member_id), delay_ms))

    def store_group(self) -> None:
        """Write the group as it now is: the generation is finished."""
        self.records.append(GroupStored(self.group.group_id, as_stored(self.group)))


def as_stored(group: Group) -> StoredGroup:
    """The durable form of a group."""
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


def stored_state(stored: StoredGroup | None) -> State:
    """The state a durable group comes back in; None is as in `from_stored`."""
    return State.STABLE if stored is not None and stored.members else State.EMPTY


def from_stored(group_id: str, stored: StoredGroup | None) -> Group:
    """The working group a durable one comes back as: Stable or Empty.

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
        group.members[member.member_id] = Member(*member[:6], protocols=protocols, assignment=member.assignment)
        if member.group_instance_id is not None:
            group.instances[member.group_instance_id] = member.member_id
    if group.members:
        group.protocol_counts = {stored.protocol_name or "": len(group.members)}
    return group
