"""Faults at named steps, read from JSON: which step, with which facts, and whether it can be done there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.broker.events import KINDS, Kind
from barnabas.broker.faults.model import FaultRefused, PointAction, PointMatch
from barnabas.broker.faults.plan.scalars import flag, listed, object_of, one_of, shown, text

_ACTIONS = ("crash", "pause")


def points() -> dict[str, Kind]:
    """The steps at which something can be done, by name."""
    return {name: kind for name, kind in KINDS.items() if kind.may_crash or kind.may_pause}


def point_fault(
    match: Mapping[str, Any], do: Mapping[str, Any], known: Mapping[str, Kind]
) -> tuple[PointMatch, PointAction]:
    """FaultRefused."""
    kind = known[one_of(match["point"], "a point", tuple(known))]
    facts = {name: value for name, value in match.items() if name != "point"}
    for name, value in facts.items():
        if name not in kind.facts:
            raise FaultRefused(f"{kind.name} tells no {shown(name)}, but {listed(kind.facts)}")
        if isinstance(value, str):
            text(value, name)
        elif not isinstance(value, int):
            raise FaultRefused(f"{name} is a text, a whole number, true or false, not {shown(value)}")
    done = object_of(do, f"what is done at {kind.name}", _can(kind))
    if len(done) != 1:
        raise FaultRefused(f"at {kind.name} one thing is done: {' or '.join(_can(kind))}")
    ((name, value),) = done.items()
    flag(value, name)
    return PointMatch(point=kind.name, facts=facts), PointAction(crash=name == "crash", pause=name == "pause")


def _can(kind: Kind) -> tuple[str, ...]:
    may = {"crash": kind.may_crash, "pause": kind.may_pause}
    return tuple(name for name in _ACTIONS if may[name])
