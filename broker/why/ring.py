"""What is asked of the history of what happened, where one is kept: the last event of some kinds with some facts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol


class Happened(NamedTuple):
    """One event."""

    kind: str
    at_ms: int
    facts: Mapping[str, Any]
    cause: Mapping[str, Any]
    """What led to it: of a request api, client_id, peer, and what it says (broker/events/cause.py)."""


class Ring(Protocol):
    """Who remembers the last events."""

    is_kept: bool
    """Whether anything is remembered at all."""

    def last(self, kinds: Collection[str], **facts: Any) -> Happened | None:
        """The newest event of one of these kinds that has these facts, or whose cause has those that it has not.

        Bounded by the size of what is remembered.
        """


class NoRing:
    """Where nothing is remembered."""

    is_kept = False

    def last(self, kinds: Collection[str], **facts: Any) -> Happened | None:
        """Nothing."""
        return None


NO_RING = NoRing()
