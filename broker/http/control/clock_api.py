"""/control/clock: operations of a test on the clock. A move continues to its end, even if the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from barnabas.broker.control.time_control.clock_change import ClockChange, read_change
from barnabas.broker.control.time_control.movable_clock import ClockRefused
from barnabas.broker.control.time_control.time_control import ClockState, GaveUp, TimeControl
from barnabas.broker.http.control.clock_openapi import CLOCK, PATH
from barnabas.broker.http.control.route_group import SERVICE_UNAVAILABLE, RouteGroup, refused
from barnabas.storage.errors import StorageError


def clock_routes(clock: TimeControl) -> RouteGroup:
    """Create the routes for the clock of one broker."""
    return RouteGroup([Route(PATH, _Pages(clock).clock, methods=["GET", "POST"])], CLOCK)


class _Pages:
    def __init__(self, clock: TimeControl) -> None:
        self._clock = clock
        self._moves: set[asyncio.Task[ClockState]] = set()

    async def clock(self, request: Request) -> JSONResponse:
        return await self._change(request) if request.method == "POST" else JSONResponse(self._clock.state._asdict())

    async def _change(self, request: Request) -> JSONResponse:
        try:
            state = await self._changed(read_change(await request.body()))
        except (GaveUp, StorageError) as failure:
            return refused(str(failure), SERVICE_UNAVAILABLE)
        except ClockRefused as refusal:
            return refused(str(refusal))
        return JSONResponse(state._asdict())

    async def _changed(self, change: ClockChange) -> ClockState:
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
            task.exception()  # a connected client receives it; the log has it anyway
