"""A page, and an action: defined in pages/ and served by application.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.params import RequestParams

Facts = dict[str, Any]


class ConsolePage(NamedTuple):
    """A page. `look` returns the values for the template. is_live: it is refreshed while it is open."""

    path: str
    template: str
    look: Callable[[ConsoleContext, RequestParams], Awaitable[Facts]]
    is_live: bool = True


class Action(NamedTuple):
    """The handler of a POST: `do` returns the address of the page that shows the result."""

    path: str
    do: Callable[[ConsoleContext, RequestParams], Awaitable[str]]
