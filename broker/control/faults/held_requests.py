"""Requests, and ends of transactions at a step, that a fault holds up. Values, for queries about what hangs.

Invariant: however many names a request has, only a limited number of characters of them is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

from barnabas.broker.control.faults.matching import RequestNames

_NAMES_CHARACTERS_MAX = 4096
"""Limit for all topics that one request names, for all groups, and for all transactional ids."""


class HoldReason(Enum):
    """The reason why something is held up."""

    PAUSED = "paused"
    """Waits until it is released."""
    DELAYED = "delayed"
    """Continues after its delay."""
    THROTTLED = "throttled"
    """Sent or received at a limited rate."""
    UNANSWERED = "unanswered"
    """A connection waits for an answer that never comes."""


class BlockedRequest(NamedTuple):
    """A request or a step that is held up. since_ms: when the fault stopped it, by the machine's clock."""

    since_ms: int
    api: str | None = None
    node: int | None = None
    client_id: str | None = None
    client_host: str | None = None
    peer: str | None = None
    point: str | None = None
    """The step, if it is not a request."""
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    facts: Mapping[str, Any] = MappingProxyType({})
    """The facts of its event, for display."""

    def naming(self, request_names: RequestNames) -> BlockedRequest:
        """Return a copy with the names in a request."""
        return self._replace(
            topics=_some(request_names.partitions),
            groups=_some(request_names.groups),
            transactional_ids=_some(request_names.transactional_ids),
        )


class HeldUp(NamedTuple):
    """An entry of a fault's list. until_ms: when it continues automatically, by the machine's clock; None for never."""

    why: HoldReason
    about: BlockedRequest
    until_ms: float | None = None


def about_step(since_ms: int, point: str, facts: Mapping[str, Any]) -> BlockedRequest:
    """Describe a step that is held up."""
    names = {name: str(facts[name]) for name in ("topic", "group", "transactional_id") if name in facts}
    return BlockedRequest(
        since_ms,
        point=point,
        facts=facts,
        topics=_some([names["topic"]] if "topic" in names else ()),
        groups=_some([names["group"]] if "group" in names else ()),
        transactional_ids=_some([names["transactional_id"]] if "transactional_id" in names else ()),
    )


def _some(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first names, within the limit of characters."""
    shown: list[str] = []
    left = _NAMES_CHARACTERS_MAX
    for name in names:
        left -= len(name)
        if left < 0:
            break
        shown.append(name)
    return tuple(shown)
