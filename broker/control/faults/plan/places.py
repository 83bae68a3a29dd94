"""The place of each key of a fault, for refusals of a misplaced one: in match, in do, beside them, or with a point."""

from __future__ import annotations

from barnabas.broker.control.faults.plan import of_disk, of_points, of_requests

FACTS = frozenset({*of_points.NUMBERS, *of_points.FLAGS, *of_points.TEXTS} - {*of_requests.MATCHES})
"""Facts that only points have."""
ACTIONS = frozenset({*of_requests.ACTIONS, *of_points.ACTIONS})
_MATCHES = frozenset({*of_requests.MATCHES, *of_disk.MATCHES, "point"})
OF_PLANS = ("version", "seed", "faults")
_OF_FAULTS = ("name", "times", "match", "do")


def points_with(fact: str) -> list[str]:
    """Return the points that have the fact."""
    return [name for name, kind in of_points.points().items() if fact in kind.facts]


def place_of(key: str, inside: str) -> str:
    """Return `: error belongs in do`, to end a refusal; empty for an unknown key. inside: match, do or fault."""
    if key in FACTS and points_with(key):
        return f"; {key} is a fact of a point, and belongs in match next to {' or '.join(points_with(key))}"
    if key in ACTIONS and inside != "do":
        return f"; {key} belongs in do"
    if key in _MATCHES and inside != "match":
        return f"; {key} belongs in match"
    if key in _OF_FAULTS and inside != "fault":
        return f"; {key} belongs next to match and do"
    if key in ("crash", "pause") and inside == "do":
        return f"; {key} is possible only at a point: name one in match"
    return f"; {key} belongs to a plan, next to its faults" if key in OF_PLANS else ""
