"""A limit on what is open or in memory and can be had again: open files, entries of indexes.

Knows its members only by a flag and a method. Members are evicted about in the order of their last use: each use sets
`member.recently_used = True`, and a member found so is passed over once. An exact order would cost each use a move in a
list.

Invariant: the weights of the members sum to at most the limit, unless every other member refused to go.
"""

from __future__ import annotations

from typing import Protocol


class Evictable(Protocol):
    """Something that can be let go."""

    recently_used: bool

    def evict(self) -> bool:
        """Let go now; False if that is not possible at the moment. Never raises."""


class EvictionPool:
    """Members in the order in which they are looked at for eviction."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.weight = 0
        self._members: dict[Evictable, int] = {}

    def __len__(self) -> int:
        return len(self._members)

    def admit(self, member: Evictable, weight: int = 1) -> None:
        """Take a member in, and let others go until it fits."""
        self.discard(member)
        self._make_room(weight)
        self._members[member] = weight
        self.weight += weight
        member.recently_used = True

    def discard(self, member: Evictable) -> None:
        """Forget a member that its owner let go of."""
        self.weight -= self._members.pop(member, 0)

    def evict_all(self) -> None:
        """Let everything go that can."""
        for member in list(self._members):
            if member.evict():
                self.discard(member)

    def _make_room(self, weight: int) -> None:
        chances = 2 * len(self._members)  # once around to take the flags away, once to evict
        while self._members and self.weight + weight > self.limit and chances > 0:
            chances -= 1
            member = next(iter(self._members))
            member_weight = self._members.pop(member)
            if not member.recently_used and member.evict():
                self.weight -= member_weight
            else:
                member.recently_used = False
                self._members[member] = member_weight
