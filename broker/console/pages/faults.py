"""Faults: those that are armed, how often each fired and who stands at it; more are armed, let go and taken back."""

from __future__ import annotations

import json

from barnabas.broker.console.asked import CONFLICT, NOT_FOUND, Asked, Refused
from barnabas.broker.console.observed import Observed
from barnabas.broker.console.page import Action, Facts, Page
from barnabas.broker.faults.model import FaultRefused
from barnabas.broker.faults.plan.of_points import points
from barnabas.broker.faults.registry import NoSuchFault

_HERE = "/console/faults"
SHOWN_MAX = 200
_EXAMPLE = {"name": "lost-commit", "match": {"api": "EndTxn"}, "do": {"lose_answer": True}}


async def _look(observed: Observed, asked: Asked) -> Facts:
    built = observed.faults.built
    armed = [] if built is None else list(built.registry.every())
    return {
        "rows": [_row(each.state(), is_unfired=each.is_unfired) for each in armed[:SHOWN_MAX]],
        "count": len(armed),
        "unfired": sum(each.is_unfired for each in armed),
        "points": [(name, kind.what) for name, kind in points().items()],
        "example": json.dumps(_EXAMPLE, indent=2),
    }


def _row(state: Facts, *, is_unfired: bool) -> Facts:
    said = {name: json.dumps(state[name], ensure_ascii=False) for name in ("match", "do")}
    return {**state, **said, "is_unfired": is_unfired}


async def _arm(observed: Observed, asked: Asked) -> str:
    try:
        observed.faults.get().arm_json(asked.needed("plan"))
    except FaultRefused as refusal:
        raise Refused(str(refusal)) from None
    return _HERE


async def _change(observed: Observed, asked: Asked) -> str:
    """One is let go on or taken back; or all are taken back."""
    registry, what = observed.faults.get().registry, asked.one_of("what", "release", "disarm", "reset")
    try:
        if what == "release":
            registry.release(asked.needed("name"))
        elif what == "disarm":
            registry.disarm(asked.needed("name"))
        else:
            registry.reset()
    except NoSuchFault as missing:
        raise Refused(str(missing), NOT_FOUND) from None
    except FaultRefused as refusal:
        raise Refused(str(refusal), CONFLICT) from None
    return _HERE


PAGES = (Page(_HERE, "faults.html", _look),)
ACTIONS = (Action("/console/faults/arm", _arm), Action("/console/faults/change", _change))
