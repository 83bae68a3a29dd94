"""The application below /console: pages, their static files, actions, and the sign-in if there is a token.

Controls access (sign_in.py). Without --control nothing can be changed. An answer that is not a page of the console
cannot become one in a browser: the Content-Security-Policy allows only content of this server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from barnabas.broker.http.console import live, rendering
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import Action, ConsolePage
from barnabas.broker.http.console.pages import ACTIONS, PAGES
from barnabas.broker.http.console.params import (
    BAD_REQUEST,
    FORBIDDEN,
    NOT_FOUND,
    UNAVAILABLE,
    Refused,
    RequestParams,
    words_of,
)
from barnabas.broker.http.console.sign_in import ConsoleSignIn
from barnabas.broker.http.control.admission import UNAUTHORIZED, Admission, Refusal
from barnabas.protocol.errors import KafkaError
from barnabas.storage.errors import StorageError

FRONT = "/console"
SIGN_IN = "/console/sign-in"
_SEE_OTHER = 303
_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_FOR_A_DAY = "max-age=86400, immutable"


def application(observed: ConsoleContext, admission: Admission) -> ASGIApp:
    """Create the application below /console."""
    console = _Console(observed)
    routes = [Route("/console/static/{name}", console.static)]
    routes += [Route(page.path, console.shown(page)) for page in PAGES]
    routes += [Route(action.path, console.done(action), methods=["POST"]) for action in ACTIONS]
    app = Starlette(routes=routes, exception_handlers={HTTPException: console.http_error})
    return _Entered(app, ConsoleSignIn(admission), console)


class _Console:
    """The pages over one broker."""

    def __init__(self, observed: ConsoleContext) -> None:
        self._observed = observed
        self._loaded: set[str] = set()

    async def static(self, request: Request) -> Response:
        """Return a static file. Its address contains its hash, so it may be cached."""
        name = request.path_params["name"]
        if name not in rendering.STATIC:
            raise HTTPException(NOT_FOUND)
        answer = Response(rendering.static_bytes(name), headers={"content-type": rendering.STATIC[name]})
        answer.headers["cache-control"] = _FOR_A_DAY
        return answer

    def shown(self, page: ConsolePage) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler for the page, its live part alone, or a stream of live parts, as the request accepts it."""

        async def show(request: Request) -> Response:
            await self._load(page.template)
            params = RequestParams(words_of(request.scope["query_string"]), request.path_params)
            wanted = request.headers.get("accept", "")
            if page.is_live and "text/event-stream" in wanted:
                parts = live.events(lambda: self._live_part(page, params, request), self._observed.clock)
                return StreamingResponse(parts, media_type="text/event-stream")
            if request.headers.get("x-part") == rendering.LIVE:
                return _html(await self._live_part(page, params, request))
            return _html(rendering.page(page.template, await self._facts(page, params, request)))

        return self._answered(show)

    def done(self, action: Action) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that performs the action and redirects to the page that shows it."""

        async def do(request: Request) -> Response:
            if not self._observed.may_change:
                raise Refused("nothing can be changed here: barnabas serve was started without --control", FORBIDDEN)
            params = RequestParams(words_of(await request.body()), request.path_params)
            return RedirectResponse(await action.do(self._observed, params), _SEE_OTHER)

        return self._answered(do)

    async def _load(self, template: str) -> None:
        """Load a template at its first use: it is compiled in a thread, so that the event loop continues."""
        if template not in self._loaded:
            await asyncio.get_running_loop().run_in_executor(None, rendering.load, template)
            self._loaded.add(template)

    async def _facts(self, page: ConsolePage, params: RequestParams, request: Request) -> dict[str, Any]:
        return self._common(request.scope["path"]) | {"is_live": page.is_live} | await page.look(self._observed, params)

    async def _live_part(self, page: ConsolePage, params: RequestParams, request: Request) -> str:
        return rendering.live_part(page.template, await self._facts(page, params, request))

    def _common(self, path: str) -> dict[str, Any]:
        node = self._observed.services.node
        clock = self._observed.time_control.built
        is_moved = clock is not None and (clock.state.state != "running" or clock.state.ahead_ms > 0)
        return {
            "navigation": rendering.navigation(has_registry=self._observed.registry() is not None),
            "here": path.removeprefix(FRONT).removeprefix("/").partition("/")[0],
            "may_change": self._observed.may_change,
            "cluster_id": node.cluster_id,
            "nodes": len(self._observed.members),
            "clock": clock.state if clock is not None and is_moved else None,
            "now_ms": self._observed.now_ms,
            "is_live": False,
        }

    def _answered(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            try:
                return await answer(request)
            except Refused as refusal:
                return self.failed(request, refusal.status, str(refusal))
            except KafkaError as refusal:
                return self.failed(request, UNAVAILABLE, f"{refusal.code.name}: {refusal.message or 'not now'}")
            except StorageError as failure:
                return self.failed(request, UNAVAILABLE, str(failure))

        return answered

    def failed(self, request: Request, status: int, why: str) -> Response:
        """Return a page with one sentence."""
        facts = self._common(request.scope["path"]) | {"status": status, "why": why}
        return _html(rendering.page("refused.html", facts), status)

    async def http_error(self, request: Request, error: Exception) -> Response:
        """Return the page for an error of Starlette."""
        assert isinstance(error, HTTPException)
        sentences = {NOT_FOUND: "there is no such page", 405: "this path does not support that method"}
        return self.failed(request, error.status_code, sentences.get(error.status_code, error.detail))


class _Entered:
    """The application behind the access control, with the headers that every answer has."""

    def __init__(self, app: Starlette, sign_in: ConsoleSignIn, console: _Console) -> None:
        self._app = app
        self._console_sign_in = sign_in
        self._console = console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request by the ASGI protocol."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *(each for each in more if each[0] not in given)]
            await send(message)

        request = Request(scope, receive)
        answer = await self._answer_of_access_control(request, scope["barnabas.peer_is_local"])
        await (self._app if answer is None else answer)(scope, receive, send_with_headers)

    async def _answer_of_access_control(self, request: Request, peer_is_local: bool) -> Response | None:
        """Return None if the request is admitted, else the answer."""
        path, headers = request.scope["path"], request.headers
        if path == SIGN_IN and request.method == "POST":
            refusal = self._console_sign_in.refusal_to_sign_in(headers, peer_is_local)
            return await self._sign_in(request) if refusal is None else self._refused(request, refusal)
        if path.startswith("/console/static/"):  # needed by the sign-in, and the same for every broker
            refusal = self._console_sign_in.refusal_to_sign_in(headers, peer_is_local)
        else:
            refusal = self._console_sign_in.refusal(request.method, headers, peer_is_local)
        return None if refusal is None else self._refused(request, refusal)

    async def _sign_in(self, request: Request) -> Response:
        try:
            form = words_of(await request.body())
        except Refused as refusal:
            return self._console.failed(request, BAD_REQUEST, str(refusal))
        cookie = self._console_sign_in.signed_in(form.get("token", ""), request.headers.get("host", ""))
        next_page = form.get("next", "")
        if not next_page.startswith("/console/") or next_page.startswith(SIGN_IN):
            next_page = FRONT
        if cookie is None:
            return _sign_in_page(next_page, "the token is wrong")
        return RedirectResponse(next_page, _SEE_OTHER, headers={"set-cookie": cookie})

    def _refused(self, request: Request, refusal: Refusal) -> Response:
        if refusal.status == UNAUTHORIZED and request.method == "GET":
            query = request.scope["query_string"].decode("ascii", "replace")
            return _sign_in_page(request.scope["path"] + (f"?{query}" if query else ""), "")
        return _html(rendering.page("outside.html", {"why": refusal.why, "next_page": ""}), refusal.status)


def _html(text: str, status: int = 200) -> Response:
    """Return an HTML answer. Names of headers may contain invalid UTF-8 (protocol/records/record.py)."""
    return HTMLResponse(text.encode("utf-8", "replace"), status)


def _sign_in_page(next_page: str, why: str) -> Response:
    facts: Mapping[str, Any] = {"why": why, "next_page": next_page}
    return HTMLResponse(rendering.page("outside.html", dict(facts)), UNAUTHORIZED, {"www-authenticate": "Bearer"})
