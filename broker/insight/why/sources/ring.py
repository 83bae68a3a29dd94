"""What is asked of the history of what happened, where one is kept (broker/insight/history/)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class Happened(NamedTuple):
    """One event."""

    kind: str
    at_ms: int
    facts: Mapping[str, Any]
    cause: Mapping[str, Any]
    """What led to it: of a request api, client_id, peer, and what it says (broker/runtime/events/cause.py)."""


class Ring(Protocol):
    """Who remembers the last events."""

    is_kept: bool
    """Whether anything is remembered at all."""

    def of(self, transactional_id: str, kinds: Collection[str]) -> Sequence[Happened]:
        """The events of these kinds about a transactional id, by their facts or their cause, the newest first.

        Not more than a thousand or so.
        """


class NoRing:
    """Where nothing is remembered."""

    is_kept = False

    def of(self, transactional_id: str, kinds: Collection[str]) -> Sequence[Happened]:
        """Nothing."""
        return ()


NO_RING = NoRing()
