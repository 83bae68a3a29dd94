"""A page, and an action: what pages/ gives and application.py serves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from barnabas.broker.http.console.console_context import Observed
from barnabas.broker.http.console.params import Asked

Facts = dict[str, Any]


class Page(NamedTuple):
    """`look` gives what the template shows. is_live: it is shown anew as long as it is open."""

    path: str
    template: str
    look: Callable[[Observed, Asked], Awaitable[Facts]]
    is_live: bool = True


class Action(NamedTuple):
    """What is done for a POST: `do` gives the address of the page that shows it."""

    path: str
    do: Callable[[Observed, Asked], Awaitable[str]]
