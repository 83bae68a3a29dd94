"""The broker's clock: shown, stopped, started, moved ahead."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.broker.control.time_control.movable_clock import ClockRefused
from barnabas.broker.control.time_control.time_text import duration_ms, moment_ms
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import Action, ConsolePage, Facts
from barnabas.broker.http.console.params import CONFLICT, Refused, RequestParams

if TYPE_CHECKING:
    from barnabas.broker.control.time_control.time_control import ClockState

_HERE = "/console/clock"
_STEPS = ("1s", "10s", "1m", "15m", "1h", "1d", "7d")
_MOVES: set[asyncio.Task[ClockState]] = set()
"""Moves continue to their end, even if the client disconnects."""


async def _look(observed: ConsoleContext, params: RequestParams) -> Facts:
    try:
        state = observed.time_control.get().state
    except ClockRefused:
        state = None
    return {"state": state, "steps": _STEPS, "machine_ms": observed.clock.now_ms()}


async def _change(observed: ConsoleContext, params: RequestParams) -> str:
    what = params.one_of("what", "freeze", "run", "advance", "at")
    try:
        clock = observed.time_control.get()
        if what == "freeze":
            clock.freeze()
        elif what == "run":
            clock.run()
        elif what == "advance":
            await _to_its_end(asyncio.ensure_future(clock.advance(duration_ms(params.needed("by")))))
        else:
            await _to_its_end(asyncio.ensure_future(clock.at(moment_ms(params.needed("moment")))))
    except ClockRefused as refusal:
        raise Refused(str(refusal), CONFLICT) from None
    return _HERE


async def _to_its_end(move: asyncio.Task[ClockState]) -> None:
    _MOVES.add(move)
    move.add_done_callback(_MOVES.discard)
    await asyncio.shield(move)


PAGES = (ConsolePage(_HERE, "clock.html", _look),)
ACTIONS = (Action("/console/clock/change", _change),)
