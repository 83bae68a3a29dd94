"""The application: the routes of /control and their description. An answer is JSON; a refusal is {"error": a sentence}.

Controls access (admission.py), and does not know the operations of a group.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from barnabas.broker.http.control.admission import Admission
from barnabas.broker.http.control.openapi import OPENAPI, PATH, document
from barnabas.broker.http.control.route_group import RouteGroup, refused


def application(route_groups: Sequence[RouteGroup], admission: Admission) -> ASGIApp:
    """Create the application below /control."""
    every_group = [*route_groups, RouteGroup([Route(PATH, _describe, methods=["GET"])], OPENAPI)]
    routes = [route for group in every_group for route in group.routes]
    *others, last = dict.fromkeys(route.path for route in routes)
    there_are = f"there are {', '.join(others)} and {last}" if others else f"there is {last}"

    async def http_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        takes = (error.headers or {}).get("Allow", "nothing")
        sentences = {404: there_are, 405: f"{request.url.path} takes {takes}, not {request.method}"}
        return JSONResponse({"error": sentences.get(error.status_code, error.detail)}, error.status_code, error.headers)

    app = Starlette(routes=routes, exception_handlers={HTTPException: http_error})
    return Admitted(app, admission)


class Admitted:
    """An application behind the access control."""

    def __init__(self, app: Starlette, admission: Admission) -> None:
        self.app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request by the ASGI protocol."""
        refusal = self._admission.refusal(Request(scope).headers, scope["barnabas.peer_is_local"])
        if refusal is None:
            await self.app(scope, receive, send)
            return
        answer = refused(refusal.why, refusal.status)
        if refusal.status == 401:
            answer.headers["www-authenticate"] = "Bearer"
        await answer(scope, receive, send)


async def _describe(request: Request) -> JSONResponse:
    return JSONResponse(document())
