"""One event as the history has it: numbered, with its times and its cause, and of bounded size. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

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


def bounded(facts: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """The facts with no text longer than TEXT_MAX, and what they take in memory, about: what bounds the ring."""
    size = 0
    cut: dict[str, Any] = {}
    for name, value in facts.items():
        if type(value) is str:
            if len(value) > TEXT_MAX:
                cut[name] = value = _cut(value)
            size += 50 + len(value)
        elif type(value) is list:
            cut[name] = texts = [_cut(each) for each in value]
            size += 60 + sum(50 + len(each) for each in texts)
        else:
            size += 32
    return ({**facts, **cut} if cut else facts), size


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"


def size_bytes(facts: int, cause: int) -> int:
    """What an event takes, with facts and a cause of these sizes."""
    return _FIXED_BYTES + facts + cause
