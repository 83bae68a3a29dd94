"""The member ids that a group assigned with MEMBER_ID_REQUIRED and that have not joined yet.

A set that preserves the order of insertion. Each decision works on a copy of its group, and a client that requests ids
and never joins makes this set long: so a copy shares all ids but the last few changes with its original, and both can
change separately.

Invariants: the shared part is never changed; at most `OWN_MAX` changes belong to one copy alone.

"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

OWN_MAX = 32
"""How many changes are stored separately, and copied, before a new shared part is made."""
PENDING_IDS_MAX = 1_000
"""How many ids a group stores; then the oldest is dropped, and its holder has to request a new one."""


class PendingIds:
    """Member ids, oldest first."""

    __slots__ = ("_added", "_removed", "_shared")

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._shared = dict.fromkeys(ids)
        self._added: dict[str, None] = {}
        self._removed: set[str] = set()

    def copy(self) -> PendingIds:
        """Return an independent set with the same ids."""
        twin = PendingIds.__new__(PendingIds)
        twin._shared = self._shared
        twin._added = self._added.copy()
        twin._removed = self._removed.copy()
        return twin

    @property
    def own_changes(self) -> int:
        """How many changes a copy has to copy."""
        return len(self._added) + len(self._removed)

    def add(self, member_id: str) -> None:
        """Add a newly assigned id, which must not be in the set."""
        assert member_id not in self, "an id is returned only once"
        self._added[member_id] = None
        self._share_if_many()

    def discard(self, member_id: str) -> None:
        """Remove an id that is used or dropped; do nothing if it is not in the set."""
        if member_id in self._added:
            del self._added[member_id]
        elif member_id in self._shared and member_id not in self._removed:
            self._removed.add(member_id)
            self._share_if_many()

    def _share_if_many(self) -> None:
        if self.own_changes > OWN_MAX:
            self._shared, self._added, self._removed = dict.fromkeys(self), {}, set()

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._added or (member_id in self._shared and member_id not in self._removed)

    def __iter__(self) -> Iterator[str]:
        yield from (member_id for member_id in self._shared if member_id not in self._removed)
        yield from self._added

    def __len__(self) -> int:
        return len(self._shared) + len(self._added) - len(self._removed)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PendingIds):
            return NotImplemented
        return len(self) == len(other) and all(member_id in other for member_id in self)

    __hash__ = None  # type: ignore[assignment]  # because it changes

    def __repr__(self) -> str:
        return f"PendingIds({list(self)})"
