"""/control/why: queries about what hangs. They change nothing."""

from __future__ import annotations

from asyncio import Future, wait
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from barnabas.broker.http.control.route_group import SERVICE_UNAVAILABLE, RouteGroup, refused
from barnabas.broker.http.control.why_openapi import PARAMETERS, PATH, WHY
from barnabas.broker.insight.why.rules.answer import WhyAnswer
from barnabas.broker.insight.why.why import Why
from barnabas.client.near_names import did_you_mean

T = TypeVar("T")
_INTEGER_MAX = 2**63 - 1


class _Unclear(Exception):
    """A query is invalid; the sentence says why."""


def why_routes(why: Why) -> RouteGroup:
    """Create the routes for the queries of one broker."""
    pages = _Pages(why)
    questions: dict[str, Callable[[Mapping[str, Any]], WhyAnswer | Future[WhyAnswer]]] = {
        "consumer": lambda given: why.consumer(given["group"], given.get("topic")),
        "producer": lambda given: why.producer(given["transactional_id"]),
        "record": lambda given: why.record(given["topic"], given["partition"], given["offset"]),
        "group": lambda given: why.group(given["group"]),
    }
    routes = [Route(f"{PATH}/{name}", pages.page(name, ask), methods=["GET"]) for name, ask in questions.items()]
    return RouteGroup([Route(PATH, pages.hanging, methods=["GET"]), *routes], WHY)


class _Pages:
    def __init__(self, why: Why) -> None:
        self._why = why

    async def hanging(self, request: Request) -> JSONResponse:
        try:
            given = _parameters("hanging", request)
        except _Unclear as unclear:
            return refused(str(unclear))
        found = await _when_there(self._why.hanging(**given))
        if found is None:
            return _stops()
        return JSONResponse({about: each.as_json() for about, each in found.items()})

    def page(self, name: str, ask: Callable[[Mapping[str, Any]], WhyAnswer | Future[WhyAnswer]]) -> Callable[..., Any]:
        async def page(request: Request) -> JSONResponse:
            try:
                given = _parameters(name, request)
            except _Unclear as unclear:
                return refused(str(unclear))
            found = await _when_there(ask(given))
            return _stops() if found is None else JSONResponse(found.as_json())

        return page


def _parameters(name: str, request: Request) -> dict[str, Any]:
    """Return the parameters of the query, by name."""
    parameters = PARAMETERS[name]
    given: dict[str, Any] = {}
    for each, text in request.query_params.multi_items():
        if each not in parameters:
            meant = did_you_mean(each, parameters) or f": there are {', '.join(parameters)}"
            raise _Unclear(f"there is no parameter {each!r} here{meant}")
        if each in given:
            raise _Unclear(f"{each} is given twice")
        if not text:
            raise _Unclear(f"{each} is empty")
        schema, _ = parameters[each]
        given[each] = _number(each, text) if schema["type"] == "integer" else text
    missing = [each for each, (_, is_required) in parameters.items() if is_required and each not in given]
    if missing:
        raise _Unclear(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: ?{missing[0]}=…")
    return given


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= _INTEGER_MAX):
        raise _Unclear(f"{name} {text[:40]!r} is not a number of 0 or more")
    return int(text)


async def _when_there(found: T | Future[T]) -> T | None:
    """Return the result; None if it was cancelled, because the broker stops."""
    if not isinstance(found, Future):
        return found
    try:
        await wait([found])
    finally:
        found.cancel()  # no effect if it is done: otherwise the client is gone
    return None if found.cancelled() else found.result()


def _stops() -> JSONResponse:
    return refused("the broker stops", SERVICE_UNAVAILABLE)
