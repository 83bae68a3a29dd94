"""One event as the history has it: numbered, with its times and its cause, and of bounded size. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.broker.events.cause import Cause

TEXT_MAX = 256
_FIXED_BYTES = 400
"""What an event takes beside its texts, about."""


class Told(NamedTuple):
    """number: counts from 1; None for one that is not kept. at_ms: by the clock that clients are told.

    cause: what led to it; empty if that is not known.
    """

    number: int | None
    at_ms: int
    machine_at_ms: int
    kind: str
    facts: Mapping[str, Any]
    cause: Mapping[str, Any]

    def fact(self, name: str) -> Any:
        """What is told under this name, of the event or of its cause; None if nothing is."""
        found = self.facts.get(name)
        return self.cause.get(name) if found is None else found

    def as_json(self) -> dict[str, Any]:
        """As /control/trace gives it."""
        return self._asdict()


def cut(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts with no text longer than TEXT_MAX."""
    return {name: _cut(value) for name, value in facts.items()}


def cause_facts(cause: Cause | None) -> Mapping[str, Any]:
    """What there is to tell of a cause."""
    return _NOTHING if cause is None else cut(cause.facts())


def size_bytes(facts: Mapping[str, Any], cause: Mapping[str, Any]) -> int:
    """What an event takes in memory, about: what bounds the ring."""
    return _FIXED_BYTES + sum(map(_size, facts.values())) + sum(map(_size, cause.values()))


_NOTHING: Mapping[str, Any] = {}


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= TEXT_MAX else value[: TEXT_MAX - 1] + "…"
    return [_cut(each) for each in value] if isinstance(value, list) else value


def _size(value: Any) -> int:
    if isinstance(value, str):
        return 50 + len(value)
    return sum(map(_size, value)) + 60 if isinstance(value, list) else 32
