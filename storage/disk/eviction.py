"""A limit on resources that can be released and acquired again: open files, entries of indexes.

Knows its members only by a flag and a method. Members are evicted about in the order of their last use: each use sets
`member.recently_used = True`, and such a member is skipped once. An exact order would cost each use a move in a
list.

Invariant: the weights of the members sum to at most the limit, unless every other member refused eviction.
"""

from __future__ import annotations

from typing import Protocol


class Evictable(Protocol):
    """A resource that can be evicted."""

    recently_used: bool

    def evict(self) -> bool:
        """Release the resource now; return False if that is not possible at the moment. Never raises."""


class EvictionPool:
    """Members in the order in which they are checked for eviction."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.weight = 0
        self._members: dict[Evictable, int] = {}

    def __len__(self) -> int:
        return len(self._members)

    def admit(self, member: Evictable, weight: int = 1) -> None:
        """Add a member, and evict others until it fits."""
        self.discard(member)
        self._make_room(weight)
        self._members[member] = weight
        self.weight += weight
        member.recently_used = True

    def discard(self, member: Evictable) -> None:
        """Remove a member that its owner released."""
        self.weight -= self._members.pop(member, 0)

    def evict_all(self) -> None:
        """Evict all members that can be evicted."""
        for member in list(self._members):
            if member.evict():
                self.discard(member)

    def _make_room(self, weight: int) -> None:
        chances = 2 * len(self._members)  # one round to clear the flags, one to evict
        while self._members and self.weight + weight > self.limit and chances > 0:
            chances -= 1
            member = next(iter(self._members))
            member_weight = self._members.pop(member)
            if not member.recently_used and member.evict():
                self.weight -= member_weight
            else:
                member.recently_used = False
                self._members[member] = member_weight
