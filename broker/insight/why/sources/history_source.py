"""The interface to the history, if one is stored (broker/insight/history/)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class Happened(NamedTuple):
    """One event."""

    kind: str
    at_ms: int
    facts: Mapping[str, Any]
    cause: Mapping[str, Any]
    """What caused it: of a request api, client_id, peer, and the values in it (broker/runtime/events/cause.py)."""


class HistorySource(Protocol):
    """A store of the last events."""

    is_kept: bool
    """Whether events are stored at all."""

    def of(self, transactional_id: str, kinds: Collection[str]) -> Sequence[Happened]:
        """Return the events of these kinds about a transactional id, by their facts or their cause, the newest first.

        At most about a thousand.
        """

    def of_share_partition(
        self, group_id: str, topic: str, partition: int, kinds: Collection[str]
    ) -> Sequence[Happened]:
        """Return the events of these kinds about a share group's partition, the newest first; at most a thousand."""


class NoHistory:
    """The `HistorySource` of a broker that stores no history."""

    is_kept = False

    def of(self, transactional_id: str, kinds: Collection[str]) -> Sequence[Happened]:
        """Return nothing."""
        return ()

    def of_share_partition(
        self, group_id: str, topic: str, partition: int, kinds: Collection[str]
    ) -> Sequence[Happened]:
        """Return nothing."""
        return ()


NO_RING = NoHistory()
