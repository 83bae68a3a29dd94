"""From JSON to a plan. An invalid fault, or one that could never match, is refused in one sentence with valid values.

Pure: the contents of a broker (its nodes, listeners, APIs and points) are given as `Known`.

    {"version": 1, "seed": 7, "faults": [{"name": "lost-commit",
      "match": {"api": "EndTxn", "transactional_id": "orders-*", "nth": 1}, "do": {"lose_answer": true}, "times": 1}]}

A fault may also be given alone. A fault without a name gets one from the registry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.broker.control.faults.model import (
    ALWAYS,
    COUNT_MAX,
    FAULTS_MAX,
    PLAN_BYTES_MAX,
    PLAN_VERSION,
    Action,
    Fault,
    FaultPlan,
    FaultRefused,
    Match,
    Often,
)
from barnabas.broker.control.faults.plan.of_disk import disk_fault
from barnabas.broker.control.faults.plan.of_points import point_fault
from barnabas.broker.control.faults.plan.of_requests import request_fault
from barnabas.broker.control.faults.plan.places import place_of
from barnabas.broker.control.faults.plan.scalars import UnknownKey, object_of, probability, shown, whole_number
from barnabas.broker.runtime.events import EventKind
from barnabas.protocol.registry import ApiKey

SEED_MAX = (1 << 53) - 1
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PLAN_KEYS = ("version", "seed", "faults")
_FAULT_KEYS = ("name", "match", "do", "times")
_OFTEN_KEYS = ("nth", "probability")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The APIs, nodes, listeners and points that a fault can match."""

    apis: Mapping[ApiKey, tuple[int, int]]
    """The supported versions."""
    nodes: Collection[int]
    listeners: Collection[str]
    points: Mapping[str, EventKind] = field(default_factory=dict)
    """The points at which an action is possible."""


def read_plan(data: bytes | str, known: Known) -> FaultPlan:
    """Read the plan, or the one fault, in this JSON. Raises FaultRefused."""
    if len(data) > PLAN_BYTES_MAX:
        raise FaultRefused(f"a plan has at most {PLAN_BYTES_MAX} bytes, not {len(data)}")
    try:
        document: Any = json.loads(data, object_pairs_hook=_no_key_twice, parse_constant=_no_number)
    except RecursionError:
        raise FaultRefused("this is not JSON: it is nested too deeply") from None
    except ValueError as error:  # also for bytes that are not UTF-8
        raise FaultRefused(f"this is not JSON: {error}") from None
    return plan_of(document, known)


def plan_of(document: Any, known: Known) -> FaultPlan:
    """Read the plan, or the one fault, in this JSON value. Raises FaultRefused."""
    if not isinstance(document, dict) or not {"faults", "version"} & document.keys():
        return FaultPlan((_fault(document, "the fault", known),))
    version = document.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > PLAN_VERSION:
        raise FaultRefused(f"the plan has version {version}, and this broker knows versions up to {PLAN_VERSION}")
    plan = object_of(document, "a plan", _PLAN_KEYS)
    whole_number(version, "a plan's version", PLAN_VERSION, PLAN_VERSION)
    seed = whole_number(plan.get("seed", 0), "a plan's seed", 0, SEED_MAX)
    faults = plan.get("faults")
    if not isinstance(faults, list):
        raise FaultRefused(f"a plan's faults are a list, not {shown(faults)}")
    if len(faults) > FAULTS_MAX:
        raise FaultRefused(f"a plan has at most {FAULTS_MAX} faults, not {len(faults)}")
    return FaultPlan(tuple(_fault(each, f"fault {number}", known) for number, each in enumerate(faults, 1)), seed)


def _fault(document: Any, what: str, known: Known) -> Fault:
    try:
        given = object_of(document, what, _FAULT_KEYS)
    except UnknownKey as unknown:
        raise FaultRefused(f"{unknown}{place_of(unknown.key, 'fault')}") from None
    name = given.get("name", "")
    if "name" in given:
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            raise FaultRefused(
                f"the name of {what} has letters, digits, dots, dashes and underscores, 100 at most, not {shown(name)}"
            )
        what = f"fault {name}"
    for key in ("match", "do"):
        if not isinstance(given.get(key), dict):
            raise FaultRefused(f"{what} needs {key}, an object, not {shown(given.get(key))}")
    match = {key: value for key, value in given["match"].items() if key not in _OFTEN_KEYS}
    try:
        often = _often(given)
        matches, acts = _kind(match, given["do"], known)
    except UnknownKey as unknown:
        inside = "match" if unknown.key in match else "do"
        raise FaultRefused(f"{what}: {unknown}{place_of(unknown.key, inside)}") from None
    except FaultRefused as refused:
        raise FaultRefused(f"{what}: {refused}") from None
    return Fault(name=name, match=matches, action=acts, often=often, definition=given)


def _kind(match: Mapping[str, Any], do: Mapping[str, Any], known: Known) -> tuple[Match, Action]:
    if "point" in match:
        return point_fault(match, do, known.points)
    if "disk" in match:
        return disk_fault(match, do)
    return request_fault(match, do, known.apis, known.nodes, known.listeners)


def _often(given: Mapping[str, Any]) -> Often:
    match, times = given["match"], given.get("times", 1)
    if times != ALWAYS:
        is_number = isinstance(times, int) and not isinstance(times, bool)
        if not is_number or not 1 <= times <= COUNT_MAX:
            raise FaultRefused(f'times is a whole number from 1 to {COUNT_MAX}, or "{ALWAYS}", not {shown(times)}')
    return Often(
        nth=whole_number(match.get("nth", 1), "nth", 1, COUNT_MAX),
        probability=probability(match.get("probability", 1), "probability"),
        times=None if times == ALWAYS else times,
    )


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if any(key == other for other, _ in pairs[:number]))
        raise FaultRefused(f"{shown(twice)} occurs twice in one object")
    return made


def _no_number(text: str) -> Any:
    raise FaultRefused(f"{text} is not a JSON number")
