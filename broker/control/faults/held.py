"""What a fault holds up: a request, or the end of a transaction at a step. Values, for whoever asks what hangs.

Invariant: however much a request names, little of it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

from barnabas.broker.control.faults.matching import Asked

_NAMES_CHARACTERS_MAX = 4096
"""Of all topics that one request names, of all groups, and of all transactional ids."""


class Held(Enum):
    """Why something is held up."""

    PAUSED = "paused"
    """It stands until it is released."""
    DELAYED = "delayed"
    """It goes on after its time."""
    THROTTLED = "throttled"
    """It goes on bit by bit."""
    UNANSWERED = "unanswered"
    """A connection waits for an answer that never comes."""


class BlockedRequest(NamedTuple):
    """What is held up. since_ms: when it met the fault, by the machine's clock."""

    since_ms: int
    api: str | None = None
    node: int | None = None
    client_id: str | None = None
    client_host: str | None = None
    peer: str | None = None
    point: str | None = None
    """The step, where it is no request."""
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    facts: Mapping[str, Any] = MappingProxyType({})
    """What events tell of it: to be shown."""

    def naming(self, asked: Asked) -> BlockedRequest:
        """With what a request names."""
        return self._replace(
            topics=_some(asked.partitions), groups=_some(asked.groups), transactional_ids=_some(asked.transactional_ids)
        )


class HeldUp(NamedTuple):
    """until_ms: when it goes on by itself, by the machine's clock; None for never."""

    why: Held
    about: BlockedRequest
    until_ms: float | None = None


def about_step(since_ms: int, point: str, facts: Mapping[str, Any]) -> BlockedRequest:
    """What stands at a step."""
    names = {name: str(facts[name]) for name in ("topic", "transactional_id") if name in facts}
    return BlockedRequest(
        since_ms,
        point=point,
        facts=facts,
        topics=_some([names["topic"]] if "topic" in names else ()),
        transactional_ids=_some([names["transactional_id"]] if "transactional_id" in names else ()),
    )


def _some(names: Iterable[str]) -> tuple[str, ...]:
    """The first of them."""
    kept: list[str] = []
    left = _NAMES_CHARACTERS_MAX
    for name in names:
        left -= len(name)
        if left < 0:
            break
        kept.append(name)
    return tuple(kept)
