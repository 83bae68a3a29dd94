"""A TypeError for an unknown keyword of `arm` or `arm_plan` that names the right place for it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def says_where(*further: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: the function's TypeError for an unknown keyword names the place where that belongs.

    further: the keywords that the function takes by `**`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = [each.name for each in inspect.signature(function).parameters.values() if each.kind != each.VAR_KEYWORD]
        known = [*own[1:], *further]

        @functools.wraps(function)
        def checked(*words: P.args, **keywords: P.kwargs) -> R:
            unknown = next((name for name in keywords if name not in known), None)
            if unknown is not None:
                name = function.__name__
                raise TypeError(f"{name}() has no keyword {unknown}{_place(name, unknown, known)}")
            return function(*words, **keywords)

        return checked

    return decorate


def _place(function: str, name: str, known: list[str]) -> str:
    from barnabas.broker.control.faults.plan.places import ACTIONS, FACTS, OF_PLANS, points_with
    from barnabas.client.near_names import did_you_mean

    if function != "arm":
        inside = "" if name in ("name", "times") else f", in {'do' if name in ACTIONS else 'match'}"
        return f": it belongs to one of the plan's faults{inside}"
    if name in FACTS:
        return f': it is a fact of a point, as in arm(point="{points_with(name)[0]}", facts={{"{name}": …}}, …)'
    if name in OF_PLANS:
        return ": it belongs to a plan: arm_plan({'version': 1, 'faults': [{'match': …, 'do': …}]})"
    return did_you_mean(name, known) or f", but {', '.join(known)}"
