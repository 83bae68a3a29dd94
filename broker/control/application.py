"""The application: /control/clock, and its description. Every answer is JSON; a refusal is {"error": a sentence}.

A move of the clock that was asked for goes on to its end, also when who asked for it goes away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from barnabas.broker.control.admission import Admission
from barnabas.broker.control.changes import Change, read_change
from barnabas.broker.control.openapi import document
from barnabas.broker.time_control.movable_clock import ClockRefused
from barnabas.broker.time_control.time_control import ClockState, GaveUp, TimeControl
from barnabas.storage.errors import StorageError

BAD_REQUEST, SERVICE_UNAVAILABLE = 400, 503
_SENTENCES = {404: "there are /control/clock and /control/openapi.json", 405: "this is not asked for like that"}


def application(clock: TimeControl, admission: Admission) -> ASGIApp:
    """Over the clock of one broker."""
    pages = _Pages(clock)
    app = Starlette(
        routes=[
            Route("/control/clock", pages.clock, methods=["GET", "POST"]),
            Route("/control/openapi.json", pages.describe, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _http_error},
    )
    return _Admitted(app, admission)


class _Admitted:
    """Lets in who may be."""

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self._app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._admission.refusal(Request(scope).headers, scope["barnabas.peer_is_local"])
        if refusal is None:
            await self._app(scope, receive, send)
            return
        challenge = {"www-authenticate": "Bearer"} if refusal.status == 401 else None
        await JSONResponse({"error": refusal.why}, refusal.status, challenge)(scope, receive, send)


class _Pages:
    def __init__(self, clock: TimeControl) -> None:
        self._clock = clock
        self._moves: set[asyncio.Task[ClockState]] = set()

    async def clock(self, request: Request) -> JSONResponse:
        return await self._change(request) if request.method == "POST" else JSONResponse(self._clock.state._asdict())

    async def describe(self, request: Request) -> JSONResponse:
        return JSONResponse(document())

    async def _change(self, request: Request) -> JSONResponse:
        try:
            state = await self._changed(read_change(await request.body()))
        except (GaveUp, StorageError) as failure:
            return _error(SERVICE_UNAVAILABLE, str(failure))
        except ClockRefused as refusal:
            return _error(BAD_REQUEST, str(refusal))
        return JSONResponse(state._asdict())

    async def _changed(self, change: Change) -> ClockState:
        match change.what:
            case "freeze":
                return self._clock.freeze()
            case "run":
                return self._clock.run()
            case "advance":
                return await self._moved(self._clock.advance(change.ms))
            case "at":
                return await self._moved(self._clock.at(change.ms))

    async def _moved(self, move: Coroutine[Any, Any, ClockState]) -> ClockState:
        task = asyncio.ensure_future(move)
        self._moves.add(task)
        task.add_done_callback(self._over)
        return await asyncio.shield(task)

    def _over(self, task: asyncio.Task[ClockState]) -> None:
        self._moves.discard(task)
        if not task.cancelled():
            task.exception()  # whoever is there still is told; the log has it anyway


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": _SENTENCES.get(error.status_code, error.detail)}, error.status_code, error.headers)


def _error(status: int, why: str) -> JSONResponse:
    return JSONResponse({"error": why}, status)
