"""Faults: the armed ones, how often each fired and what it holds up; they can be armed, released and disarmed.

The steps at which a fault can be armed are drawn at their place in a commit. Each is a link that fills in the form.
Forms make the JSON of the usual faults of requests and of the disk; what it allows is checked in one place, for all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.codes import codes_of
from barnabas.broker.control.faults.matching import matches_point
from barnabas.broker.control.faults.model import (
    ALWAYS,
    DiskError,
    DiskFileKind,
    DiskOperation,
    FaultRefused,
    PointAction,
    PointMatch,
)
from barnabas.broker.control.faults.plan.of_points import CODES, FLAGS, NUMBERS, point_fault, points
from barnabas.broker.control.faults.registry import NoSuchFault
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import Action, ConsolePage, Facts
from barnabas.broker.http.console.params import CONFLICT, NOT_FOUND, Refused, RequestParams, whole
from barnabas.broker.http.console.rendering import url
from barnabas.broker.http.console.svg.sequence import WIDTH, FaultMark, StepView, drawn, place_of
from barnabas.broker.http.console.svg.steps import OTHERS
from barnabas.broker.runtime.events import EventKind
from barnabas.protocol.registry import ApiKey

_HERE = "/console/faults"
SHOWN_MAX = 200
STANDING_MAX = 5
"""Maximum number of held-up requests or steps that are named per fault."""
_EXAMPLE = {"name": "lost-commit", "match": {"api": "EndTxn"}, "do": {"lose_answer": True}}
REQUEST_ACTIONS = {
    "error": "answer with an error",
    "lose_answer": "apply it, and lose the answer",
    "drop": "do not apply it, nor answer",
    "cut": "apply it, and close the connection before the answer",
    "delay": "delay it",
    "pause": "hold it until it is released",
}
DISK_ACTIONS = {
    DiskError.ENOSPC.value: "the disk is full",
    DiskError.EIO.value: "an I/O error",
    "delay": "delay a sync",
}


async def _look(observed: ConsoleContext, params: RequestParams) -> Facts:
    built = observed.faults.built
    armed = [] if built is None else list(built.registry.every())
    at, chosen = _marks(armed), params.word("point")
    return {
        "rows": [_row(each) for each in armed[:SHOWN_MAX]],
        "count": len(armed),
        "unfired": sum(each.is_unfired for each in armed),
        "sequence": drawn(points(), lambda step: at(step.point, step.facts), (chosen, params.word("state"))),
        "width": WIDTH,
        "others": [
            (description, [_listed(points()[name], at, chosen) for name in names]) for description, names in OTHERS
        ],
        **_form(params),
        **_choices(observed),
    }


def _choices(observed: ConsoleContext) -> Facts:
    """Return what the forms of requests and of the disk offer."""
    apis = [ApiKey(each.api_key) for each in observed.services.offered_apis]
    return {
        "apis": sorted(each.api_name for each in apis),
        "codes": sorted({code.name for each in apis for code in codes_of(each)}),
        "request_actions": REQUEST_ACTIONS,
        "disk_actions": DISK_ACTIONS,
        "operations": [each.value for each in DiskOperation],
        "files": [each.value for each in DiskFileKind],
    }


def _row(armed: Armed) -> Facts:
    state = armed.state()
    texts = {name: json.dumps(state[name], ensure_ascii=False) for name in ("match", "do")}
    return {**state, **texts, "is_unfired": armed.is_unfired, "who": _mark(armed).who}


# --- steps ---

_At = Callable[[str, dict[str, str]], Sequence[FaultMark]]


def _marks(armed: Sequence[Armed]) -> _At:
    """Return a function for the faults armed at a step, given the facts that are known beforehand."""
    by_point: dict[str, list[tuple[PointMatch, Armed]]] = {}
    for each in armed:
        match = each.fault.match
        if isinstance(match, PointMatch):
            by_point.setdefault(match.point, []).append((match, each))

    def at(point: str, known: dict[str, str]) -> list[FaultMark]:
        return [_mark(each) for match, each in by_point.get(point, ()) if _may_meet(match, known)]

    return at


def _may_meet(match: PointMatch, known: dict[str, str]) -> bool:
    """Return whether the known facts match; facts that are not known yet may match."""
    decided = {name: wanted for name, wanted in match.facts.items() if name in known}
    return matches_point(PointMatch(point=match.point, facts=decided), match.point, known)


def _mark(armed: Armed) -> FaultMark:
    state, action, stands = armed.state(), armed.fault.action, armed.who_stands
    does = action.name if isinstance(action, PointAction) else "pause"
    who = [_who(facts) for facts in stands[:STANDING_MAX]]
    return FaultMark(armed.name, does, str(state["times"]), state["fired"], who, len(stands))


def _who(facts: Any) -> str:
    """Describe what is held up: of a step its transactional id or group; of a request its API and client."""
    where = f" at {facts['topic']}-{facts['partition']}" if "topic" in facts and "partition" in facts else ""
    if "transactional_id" in facts:
        return f"{facts['transactional_id']}{where}"
    if "api" not in facts and "group" in facts:
        return f"{facts['group']}{where}"
    return f"{facts.get('api', 'a request')} of {facts.get('client_id') or facts.get('connection', 'a client')}"


def _listed(kind: EventKind, at: _At, chosen: str) -> StepView:
    return place_of(kind, "", at(kind.name, {}), is_chosen=kind.name == chosen)


# --- the form of JSON ---


def _form(params: RequestParams) -> Facts:
    """Return the values of the form: an example, or a fault at the chosen step, with the given facts."""
    name = params.word("point")
    if not name:
        return {"plan": json.dumps(_EXAMPLE, indent=2), "point": None}
    kind = points().get(name)
    if kind is None:
        raise Refused(f"there is no point {name}: there are {', '.join(points())}", NOT_FOUND)
    may = [each for each in ("pause", "crash", "error") if each in kind.actions]
    does = params.one_of("do", *may)
    given = {fact: params.words[fact] for fact in kind.facts if params.words.get(fact)}
    match = {"point": name, **{fact: _fact(fact, text) for fact, text in given.items()}}
    do = {does: CODES[0] if does == "error" else True}
    try:
        point_fault(match, do, points())
    except FaultRefused as refusal:
        raise Refused(str(refusal)) from None
    return {
        "plan": json.dumps({"match": match, "do": do}, indent=2, ensure_ascii=False),
        "point": kind,
        "write_codes": CODES if does == "error" else (),
        "ways": [(each, url("/faults", point=name, **given, do=each) + "#arm", each == does) for each in may],
    }


def _fact(name: str, text: str) -> str | int | bool:
    if name in FLAGS:
        if text not in ("true", "false"):
            raise Refused(f"{name} is true or false")
        return text == "true"
    return whole(name, text) if name in NUMBERS or name == "partition" else text


# --- the other forms ---


def request_fault_of(params: RequestParams) -> Facts:
    """Return the fault of requests that a form describes, in the form of its JSON. Raise Refused."""
    does = params.one_of("do", *REQUEST_ACTIONS)
    do: Facts = {does: True}
    if does == "error":
        do = {does: params.needed("error")}
    elif does == "delay":
        do = {does: params.needed("delay")}
    elif does == "cut":
        do = {does: "before"}
    names = ("api", "client_id", "topic", "group", "transactional_id")
    return _fault(params, {name: params.words[name] for name in names if params.words.get(name)}, do)


def disk_fault_of(params: RequestParams) -> Facts:
    """Return the fault of the disk that a form describes, in the form of its JSON. Raise Refused."""
    does = params.one_of("do", *DISK_ACTIONS)
    do = {"delay": params.needed("delay")} if does == "delay" else {"error": does}
    texts = {name: params.words[name] for name in ("disk", "file", "topic") if params.words.get(name)}
    return _fault(params, {"disk": "append", **texts}, do)


def _fault(params: RequestParams, match: Facts, do: Facts) -> Facts:
    for name in ("partition", "nth"):
        if params.word(name):
            match[name] = params.number(name, 0)
    times = params.word("times", "1")
    fault: Facts = {"match": match, "do": do, "times": times if times == ALWAYS else whole("times", times)}
    return fault | ({"name": params.word("name")} if params.word("name") else {})


# --- actions ---


async def _arm(observed: ConsoleContext, params: RequestParams) -> str:
    return _armed(observed, params.needed("plan"))


async def _arm_request(observed: ConsoleContext, params: RequestParams) -> str:
    return _armed(observed, json.dumps(request_fault_of(params)))


async def _arm_disk(observed: ConsoleContext, params: RequestParams) -> str:
    return _armed(observed, json.dumps(disk_fault_of(params)))


def _armed(observed: ConsoleContext, plan: str) -> str:
    try:
        observed.faults.get().arm_json(plan)
    except FaultRefused as refusal:
        raise Refused(str(refusal)) from None
    return _HERE


async def _change(observed: ConsoleContext, params: RequestParams) -> str:
    """Release or disarm one fault; or disarm all. Return the page where the button stood."""
    registry, what = observed.faults.get().registry, params.one_of("what", "release", "disarm", "reset")
    try:
        if what == "release":
            registry.release(params.needed("name"))
        elif what == "disarm":
            registry.disarm(params.needed("name"))
        else:
            registry.reset()
    except NoSuchFault as missing:
        raise Refused(str(missing), NOT_FOUND) from None
    except FaultRefused as refusal:
        raise Refused(str(refusal), CONFLICT) from None
    return params.back(_HERE)


PAGES = (ConsolePage(_HERE, "faults.html", _look),)
ACTIONS = (
    Action("/console/faults/arm", _arm),
    Action("/console/faults/arm-request", _arm_request),
    Action("/console/faults/arm-disk", _arm_disk),
    Action("/console/faults/change", _change),
)
