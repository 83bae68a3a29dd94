"""The members that a group waits for, for every type of group."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from barnabas.broker.insight.why.rules.answer import WhyAnswer, evidence
from barnabas.broker.insight.why.rules.formatting import as_argument, counted, duration, listed, named
from barnabas.broker.insight.why.rules.held_requests import HeldRequests
from barnabas.broker.insight.why.rules.held_requests import sentences as held_sentences
from barnabas.broker.insight.why.rules.refused_clients import RefusedClients, beside

SHOWN_MAX = 10
"""Maximum number of members with separate sentences."""


class Stands(StrEnum):
    """The state of a member."""

    DONE = "has its assignment"
    JOINED = "has joined again, and waits for the others"
    NOT_JOINED = "has not joined again"
    PENDING = "received its member id, and has not joined with it"
    WAITS_FOR_ASSIGNMENT = "waits for the leader's assignment"
    NOT_ASSIGNING = "leads, and has not sent the assignment"
    NOT_SYNCED = "has not requested its assignment"
    NOT_REVOKED = "must revoke partitions, and has not confirmed that"
    WAITS_FOR_OTHERS = "waits for partitions that other members have not revoked"
    TASKS_NOT_GIVEN_UP = "must revoke tasks, and has not confirmed that"
    WAITS_FOR_TASKS = "waits for tasks that other members have not revoked"
    BEHIND = "has not sent a heartbeat since the assignment changed"


HOLDS_UP = (
    Stands.NOT_JOINED,
    Stands.PENDING,
    Stands.NOT_ASSIGNING,
    Stands.NOT_SYNCED,
    Stands.NOT_REVOKED,
    Stands.TASKS_NOT_GIVEN_UP,
    Stands.BEHIND,
)
"""States of members that the others wait for."""


REBALANCING = ("PreparingRebalance", "CompletingRebalance", "NotReady", "Assigning", "Reconciling")
"""The states of a group in which its members wait for it."""


class MemberFacts(NamedTuple):
    """One member. Times are the time left."""

    member_id: str
    stands: Stands
    client_id: str = ""
    client_host: str = ""
    instance_id: str | None = None
    member_epoch: int | None = None
    speaks_classic: bool | None = None
    session_left_ms: int | None = None
    """Until it is removed, unless it sends a heartbeat."""
    deadline_left_ms: int | None = None
    """Until it is removed, unless it does what the group waits for."""
    partitions: tuple[str, ...] = ()
    """Partitions that it has to revoke, or waits for."""
    of_members: tuple[str, ...] = ()
    """The members that own the partitions it waits for."""


class GroupFacts(NamedTuple):
    """A group's present state."""

    group: str
    unavailable: str | None = None
    """Why its coordinator is unavailable."""
    exists: bool = True
    near: str | None = None
    """A group with a similar name, if this one does not exist."""
    protocol: str = "classic"
    state: str = "Empty"
    generation_id: int | None = None
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    members_count: int = 0
    members: tuple[MemberFacts, ...] = ()
    """Members that the others wait for come first; not all, if there are many."""
    holding_up_count: int = 0
    """How many members the others wait for."""
    state_since_ms: int | None = None
    """How long it has been in this state."""
    rebalance_left_ms: int | None = None
    """Until the join phase, or the wait for assignments, times out."""
    is_initial_delay: bool = False
    """Whether the join phase only waits for the initial rebalance delay."""
    unfit: str | None = None
    """What the topics lack for the topology of a streams group, as the broker answers its members."""
    without_state: tuple[str, ...] = ()
    """Partitions that a share group subscribes to, and that have no state yet: they are not assigned."""
    held_back: tuple[str, ...] = ()
    """Partitions that it reads in which a transaction holds records back."""
    held: HeldRequests | None = None
    """Requests of the group that faults hold up."""
    kept_out: RefusedClients | None = None
    """Recent refusals of its clients."""


def explain(facts: GroupFacts) -> WhyAnswer:
    """Return the answer to `why group`."""
    return WhyAnswer((*held_sentences(facts.held), *beside(facts.kept_out, sentences(facts))), evidence(facts))


def is_rebalancing(facts: GroupFacts) -> bool:
    """Return whether members wait for the group."""
    return facts.state in REBALANCING


def sentences(facts: GroupFacts) -> list[str]:
    """Return what the group waits for, then the state of each member."""
    group = named(facts.group)
    if facts.unavailable is not None:
        return [f"The coordinator of group {group} is not available: {facts.unavailable}."]
    if not facts.exists:
        meant = "" if facts.near is None else f" (did you mean {named(facts.near)}?)"
        return [f"There is no group {group}{meant}: it has no members, and no committed offsets."]
    match facts.state:
        case "Empty":
            since = (
                "no members" if facts.state_since_ms is None else f"had no members for {duration(facts.state_since_ms)}"
            )
            reader = (
                "share consumer reads for it"
                if facts.protocol == "share"
                else "consumer reads for it, except with assign()"
            )
            return [f"Group {group} has {since}: no {reader}."]
        case "PreparingRebalance":
            first = _joining(group, facts)
        case "CompletingRebalance":
            first = _assigning_classic(group, facts)
        case "NotReady":
            first = [_not_ready(group, facts)]
        case "Assigning":
            first = _computing(group, facts)
        case "Reconciling":
            first = _reconciling(group, facts)
        case _:
            first = [_stable(group, facts)]
    return [*first, *_members(facts), *without_state(facts), *_held_back(facts)]


def _stable(group: str, facts: GroupFacts) -> str:
    late = facts.holding_up_count
    if late:
        return f"Group {group} is {facts.state}, and {counted(late, 'member')} did not request the assignment yet."
    return f"Group {group} waits for no member: it is {facts.state}, with {counted(facts.members_count, 'member')}."


def _not_ready(group: str, facts: GroupFacts) -> str:
    why = "a member's next heartbeat compares them" if facts.unfit is None else named(facts.unfit.removesuffix("."))
    return f"Group {group} has no tasks, since its topics do not fit its topology: {why}."


def without_state(facts: GroupFacts) -> list[str]:
    """Return that some partitions of a share group cannot be assigned yet; nothing if all can be."""
    if not facts.without_state or not facts.members_count:
        return []
    later = "a heartbeat assigns them once their state is stored"
    return [f"No member gets {listed(facts.without_state)} yet: {later}."]


def _held_back(facts: GroupFacts) -> list[str]:
    if not facts.held_back:
        return []
    parts = f"An open transaction holds readers of committed records back in {listed(facts.held_back)}"
    return [f"{parts}: `barnabas why consumer {as_argument(facts.group)}` shows which."]


def _joining(group: str, facts: GroupFacts) -> list[str]:
    if facts.is_initial_delay:
        left = duration(facts.rebalance_left_ms or 0)
        return [
            f"Group {group} is new and waits for more members to come: group.initial.rebalance.delay.ms, {left} more."
        ]
    waits = f"waits for {counted(facts.holding_up_count, 'member')} to join again"
    return [f"Group {group} rebalances: it {waits}.", *_or_removed(facts)]


def _assigning_classic(group: str, facts: GroupFacts) -> list[str]:
    return [
        f"Group {group} rebalances: all have joined, and it waits for the leader's assignment.",
        *_or_removed(facts),
    ]


def _or_removed(facts: GroupFacts) -> list[str]:
    if facts.rebalance_left_ms is None:
        return []
    return [f"In {duration(facts.rebalance_left_ms)} the group continues without the members that it waits for."]


def _computing(group: str, facts: GroupFacts) -> list[str]:
    if facts.is_initial_delay:
        left = duration(facts.rebalance_left_ms or 0)
        return [f"Group {group} is new and waits for more members to come: initial.rebalance.delay.ms, {left} more."]
    epochs = f"the assignment is of epoch {facts.assignment_epoch}, the group's epoch is {facts.group_epoch}"
    return [f"Group {group} rebalances: {epochs}. The next heartbeat of a member computes it again."]


def _reconciling(group: str, facts: GroupFacts) -> list[str]:
    waits = f"{counted(facts.holding_up_count, 'member')} out of {facts.members_count}"
    if not facts.holding_up_count:
        return [f"Group {group} rebalances: members receive their partitions with their next heartbeats."]
    return [f"Group {group} rebalances to epoch {facts.assignment_epoch}: it waits for {waits}."]


def _members(facts: GroupFacts) -> list[str]:
    shown = [_member(each) for each in facts.members if each.stands in HOLDS_UP or each.of_members][:SHOWN_MAX]
    more = facts.holding_up_count - sum(each.stands in HOLDS_UP for each in facts.members[:SHOWN_MAX])
    return [*shown, f"The group waits for {counted(more, 'more member')}."] if more > 0 and shown else shown


def _member(member: MemberFacts) -> str:
    what = f"Member {named(member.member_id)}{_client(member)} {member.stands.value}"
    if member.partitions:
        what += f": {listed(member.partitions)}"
    if member.of_members:
        what += f", owned by {listed([named(each) for each in member.of_members])}"
    if member.stands not in HOLDS_UP:
        return f"{what}."
    lefts = [
        (member.deadline_left_ms, "unless it does so"),
        (member.session_left_ms, "unless it sends a heartbeat"),
    ]
    known = [(left, unless) for left, unless in lefts if left is not None]
    if not known:
        return f"{what}."
    left, unless = min(known)
    return f"{what}; it is removed in {duration(left)} {unless}."


def _client(member: MemberFacts) -> str:
    parts = [
        f"client {named(member.client_id)}" if member.client_id else "",
        f"at {named(member.client_host.lstrip('/'))}" if member.client_host else "",
    ]
    text = " ".join(filter(None, parts))
    return f" ({text})" if text else ""
