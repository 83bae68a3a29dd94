"""/control/faults: faults armed, listed, awaited, released and disarmed, as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.faults import Faults
from barnabas.broker.control.faults.model import COUNT_MAX, FaultRefused
from barnabas.broker.control.faults.registry import NoSuchFault, NotInTime
from barnabas.broker.control.time_control.movable_clock import ClockRefused
from barnabas.broker.control.time_control.time_text import duration_ms
from barnabas.broker.http.control.faults_openapi import FAULTS, PATH, PATH_OF_ONE, PATH_OF_RELEASE, WAIT_MS_MAX
from barnabas.broker.http.control.route_group import GATEWAY_TIMEOUT, NOT_FOUND, RouteGroup, refused

_WAITS = ("wait_fired", "wait_standing")
_TIMEOUT = "timeout"
_DEFAULT_TIMEOUT = "10s"

Endpoint = Callable[[Request], Awaitable[Response]]


def faults_routes(faults: Faults) -> RouteGroup:
    """Create the routes for the faults of one broker."""
    pages = _Pages(faults)
    routes = [
        Route(PATH, _answering(pages.all_of_them), methods=["GET", "POST", "DELETE"]),
        Route(PATH_OF_ONE, _answering(pages.one), methods=["GET", "DELETE"]),
        Route(PATH_OF_RELEASE, _answering(pages.release), methods=["POST"]),
    ]
    return RouteGroup(routes, FAULTS)


def _answering(page: Endpoint) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            return await page(request)
        except NoSuchFault as missing:
            return refused(str(missing), NOT_FOUND)
        except NotInTime as late:
            return refused(str(late), GATEWAY_TIMEOUT)
        except FaultRefused as refusal:
            return refused(str(refusal))

    return answer


class _Pages:
    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._registry = faults.registry

    async def all_of_them(self, request: Request) -> Response:
        """List the faults; arm some, and return them; or disarm all, and return their last state."""
        if request.method == "POST":
            return _described(self._faults.arm_json(await request.body()))
        described = _described(self._registry.every())
        if request.method == "DELETE":
            self._registry.reset()
        return described

    async def one(self, request: Request) -> Response:
        """Return the present state, after an optional wait; or disarm the fault, and return its last state."""
        name = request.path_params["name"]
        if request.method == "DELETE":
            state = self._registry.get(name).state()
            self._registry.disarm(name)
            return JSONResponse(state)
        given = {key: value for key, value in request.query_params.multi_items() if key in (*_WAITS, _TIMEOUT)}
        waits = [key for key in _WAITS if key in given]
        if len(waits) > 1:
            raise FaultRefused("wait_fired and wait_standing exclude each other")
        if not waits:
            return JSONResponse(self._registry.get(name).state())
        wait = self._registry.wait_fired if waits == ["wait_fired"] else self._registry.wait_standing
        found = await wait(name, _count(waits[0], given[waits[0]]), _timeout_ms(given) / 1000)
        return JSONResponse(found.state())

    async def release(self, request: Request) -> Response:
        """Release what is paused by the fault."""
        name = request.path_params["name"]
        self._registry.release(name)
        return JSONResponse(self._registry.get(name).state())


def _described(armed: Iterable[Armed]) -> JSONResponse:
    each = list(armed)
    body: dict[str, Any] = {
        "faults": [one.state() for one in each],
        "unfired": [one.name for one in each if one.is_unfired],
    }
    return JSONResponse(body)


def _count(key: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and 1 <= int(text) <= COUNT_MAX):
        raise FaultRefused(f"{key} is a whole number from 1 to {COUNT_MAX}, not {text[:60]!r}")
    return int(text)


def _timeout_ms(given: dict[str, str]) -> int:
    text = given.get(_TIMEOUT, _DEFAULT_TIMEOUT)
    try:
        timeout_ms = duration_ms(text)
    except ClockRefused:
        raise FaultRefused(f"timeout is a length of time such as 500ms or 10s, not {text[:60]!r}") from None
    if timeout_ms > WAIT_MS_MAX:
        raise FaultRefused(f"timeout is {WAIT_MS_MAX // 1000}s at most, not {text[:60]!r}: ask again")
    return timeout_ms
