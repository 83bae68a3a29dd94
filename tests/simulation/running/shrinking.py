"""A failure in as little as it takes: the plan made smaller, step by step, for as long as the same rule is broken.

`changed` is the other way: a plan with single fields set, as a shrunk one is brought back on the command line.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from tests.simulation.plans.plan import Plan

_SMALLEST = {"transactional": 0, "readers": 1, "partitions": 1, "inputs": 1, "in_flight": 1, "length_ms": 500}
_NEVER_SMALLER = ("protocol", "timeout_ms")


def shrunk(plan: Plan, breaks_rule: Callable[[Plan], bool]) -> tuple[Plan, dict[str, Any]]:
    """The smallest plan that was found to fail still, and what is different in it."""
    changes: dict[str, Any] = {}
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for name, value in _smaller(plan):
            tried = changed(plan, {name: value})
            if breaks_rule(tried):
                plan, changes[name], is_smaller = tried, value, True
                break
    return plan, changes


def _smaller(plan: Plan) -> Iterator[tuple[str, Any]]:
    """Single changes, the largest steps first."""
    for each in fields(plan):
        value = getattr(plan, each.name)
        if each.name in _NEVER_SMALLER or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        least = _SMALLEST.get(each.name, 0)
        if value > least:
            yield each.name, type(value)(least)
            half = type(value)((value + least) / 2)
            if least < half < value:
                yield each.name, half
    for part in ("weather", "machine", "sink", "producing", "security"):
        for each in fields(getattr(plan, part)):
            value = getattr(getattr(plan, part), each.name)
            if isinstance(value, float) and value > 0:
                yield f"{part}.{each.name}", 0.0


def changed(plan: Plan, changes: dict[str, Any]) -> Plan:
    """The plan with these fields; `weather.cut` is a field of a field. ValueError for one that there is not."""
    for name, value in changes.items():
        part, _, field = name.rpartition(".")
        holder = getattr(plan, part, None) if part else plan
        if holder is None or field not in {each.name for each in fields(holder)}:
            raise ValueError(f"a plan has no {name}")
        plan = _set(plan, part, _set(holder, field, value)) if part else _set(plan, field, value)
    return plan


def _set(holder: Any, field: str, value: Any) -> Any:
    return replace(holder, **{field: _like(getattr(holder, field), value)})


def _like(before: Any, value: Any) -> Any:
    """The value, as what is there before is; of text from the command line, where several are parted by slashes."""
    if isinstance(value, type(before)):
        return value
    if isinstance(before, bool):
        return {"True": True, "False": False}[value]
    if isinstance(before, tuple):
        return tuple(int(each) for each in value.split("/"))
    return type(before)(value)
