# compiled: mypyc
"""The way of a member to its target assignment (KIP-848): which partitions it may have next. Pure.

              target reached
    STABLE ◄────────────────── UNRELEASED_PARTITIONS   waits for partitions that others have
      │ ▲                         ▲      │
      │ └── gave them up, ────────┘      │  a new target takes partitions away
      ▼     nothing is waited for        ▼
    UNREVOKED_PARTITIONS ◄───────────────┘             has to give partitions up, and keeps its epoch until then

Partitions are revoked before others are assigned, so no partition ever has two owners: one is assigned only when no
member has it any more (`epoch_of` is -1). A member revokes partitions by no longer naming them in a heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import Assignment
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    NOTHING_OWNED,
    Claimed,
    ConsumerGroupMember,
    MemberState,
    Owned,
)
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Pauses, Steps

NOT_OWNED = -1
_NO_PARTITIONS: dict[int, int] = {}


class Circumstances(NamedTuple):
    """The input of a member's next step, besides the member."""

    target_epoch: int
    target: Assignment
    subscribed: Container[bytes]
    """The ids of the member's subscribed topics."""
    epoch_of: Callable[[bytes, int], int]
    """Returns the member epoch of a partition's owner, or NOT_OWNED."""
    owned: Claimed | None
    """The partitions that the member claims to have; None: not sent."""
    has_subscription_changed: bool = False

    def may_still_own(self, revoked: Owned) -> bool:
        """Return whether the member may still have some of these: its request names one, or has no such field."""
        if self.owned is None:
            return True
        return any(
            not self.owned[topic_id].isdisjoint(partitions)
            for topic_id, partitions in revoked.items()
            if topic_id in self.owned
        )


def reconcile(member: ConsumerGroupMember, given: Circumstances) -> Steps[ConsumerGroupMember]:
    """Return the member's successor; the same one if nothing changes. FENCED_MEMBER_EPOCH for an unknown state.

    Runs in steps if there are very many topics.
    """
    return _BY_STATE[member.state](member, given)


def _stable(member: ConsumerGroupMember, given: Circumstances) -> Steps[ConsumerGroupMember]:
    if member.member_epoch != given.target_epoch:
        return (yield from _next(member, given, member.member_epoch))
    return _without_unsubscribed(member, given) if given.has_subscription_changed else member


def _unrevoked(member: ConsumerGroupMember, given: Circumstances) -> Steps[ConsumerGroupMember]:
    if not given.may_still_own(member.pending_revocation):
        return (yield from _next(member, given, member.member_epoch))
    return _without_unsubscribed(member, given) if given.has_subscription_changed else member


def _unreleased(member: ConsumerGroupMember, given: Circumstances) -> Steps[ConsumerGroupMember]:
    return _next(member, given, member.member_epoch)


def _unknown(member: ConsumerGroupMember, given: Circumstances) -> Steps[ConsumerGroupMember]:
    if given.owned is None or given.owned:
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
        )
    return _next(member, given, given.target_epoch)


_BY_STATE: dict[MemberState, Callable[[ConsumerGroupMember, Circumstances], Steps[ConsumerGroupMember]]] = {
    MemberState.STABLE: _stable,
    MemberState.UNREVOKED_PARTITIONS: _unrevoked,
    MemberState.UNRELEASED_PARTITIONS: _unreleased,
    MemberState.UNKNOWN: _unknown,
}


def _without_unsubscribed(member: ConsumerGroupMember, given: Circumstances) -> ConsumerGroupMember:
    """Revoke topics that the member no longer subscribes to, at once, before there is a new target."""
    dropped = {topic_id: each for topic_id, each in member.assigned.items() if topic_id not in given.subscribed}
    if not dropped:
        return member
    kept = {topic_id: each for topic_id, each in member.assigned.items() if topic_id in given.subscribed}
    pending = dict(member.pending_revocation)
    for topic_id, partitions in dropped.items():
        pending[topic_id] = {**pending.get(topic_id, _NO_PARTITIONS), **partitions}
    if given.may_still_own(pending):
        return member.moved_to(member.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, pending)
    return member.moved_to(member.member_epoch, member.state, kept, member.pending_revocation)


def _next(member: ConsumerGroupMember, given: Circumstances, epoch_while_revoking: int) -> Steps[ConsumerGroupMember]:
    """Revoke partitions outside the target; after that, add the free ones of the target."""
    kept: dict[bytes, dict[int, int]] = {}
    revoked: dict[bytes, dict[int, int]] = {}
    added: dict[bytes, list[int]] = {}
    waits = False
    pauses = Pauses()
    for topic_id in dict.fromkeys((*given.target, *member.assigned)):
        had = member.assigned.get(topic_id, _NO_PARTITIONS)
        wanted = set(given.target.get(topic_id, ()) if topic_id in given.subscribed else ())
        _put(kept, topic_id, {number: epoch for number, epoch in had.items() if number in wanted})
        _put(revoked, topic_id, {number: epoch for number, epoch in had.items() if number not in wanted})
        missing = sorted(wanted.difference(had))
        free = [number for number in missing if _is_free(member, given, topic_id, number)]
        waits = waits or len(free) < len(missing)
        if free:
            added[topic_id] = free
        if pauses.is_due():
            yield
    if revoked and given.may_still_own(revoked):
        return member.moved_to(epoch_while_revoking, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
    for topic_id, numbers in added.items():
        mine = kept.setdefault(topic_id, {})
        mine.update(dict.fromkeys(numbers, given.target_epoch))
        kept[topic_id] = dict(sorted(mine.items()))
    state = MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE
    return member.moved_to(given.target_epoch, state, kept, NOTHING_OWNED)


def _is_free(member: ConsumerGroupMember, given: Circumstances, topic_id: bytes, number: int) -> bool:
    """Return whether no member has the partition, or only this one, which was revoking it and now gets it back."""
    is_mine = number in member.pending_revocation.get(topic_id, _NO_PARTITIONS)
    return is_mine or given.epoch_of(topic_id, number) == NOT_OWNED


def _put(owned: dict[bytes, dict[int, int]], topic_id: bytes, partitions: dict[int, int]) -> None:
    if partitions:
        owned[topic_id] = partitions


def claimed(partitions: Iterable[tuple[bytes, Iterable[int]]]) -> Claimed:
    """Return the partitions that a request claims; a topic that is named twice counts with all of them."""
    found: dict[bytes, set[int]] = {}
    for topic_id, numbers in partitions:
        found.setdefault(topic_id, set()).update(numbers)
    return {topic_id: frozenset(numbers) for topic_id, numbers in found.items()}
