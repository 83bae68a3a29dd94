"""/control/trace: recent events as JSON; and new events, as server-sent events for followers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from barnabas.broker.http.control.route_group import SERVICE_UNAVAILABLE, RouteGroup, refused
from barnabas.broker.http.control.trace_openapi import FILTERS, LIMIT, LIMIT_MAX, PATH, TRACE
from barnabas.broker.insight.history.history import Follower, History, TooManyFollowers
from barnabas.broker.insight.history.trace_event import TraceEvent
from barnabas.broker.insight.history.trace_filter import TraceFilter, number, wanted
from barnabas.client.near_names import did_you_mean

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE_S = 5.0
"""Maximum interval between writes to a follower, so that the loss of its connection is noticed."""


def trace_routes(history: Callable[[], History]) -> RouteGroup:
    """Create the routes for the history of one broker."""
    return RouteGroup([Route(PATH, _Pages(history).trace, methods=["GET"])], TRACE)


class _Pages:
    def __init__(self, history: Callable[[], History]) -> None:
        self._history = history

    async def trace(self, request: Request) -> Response:
        history = self._history()
        try:
            given = _query(request)
            trace_filter, start = wanted(given), number(given, "from")
            limit = number(given, "limit")
            all_requests = _is_yes(given)
            last_seen = number({"Last-Event-ID": _header(request, "last-event-id")}, "Last-Event-ID")
        except ValueError as wrong:
            return refused(str(wrong))
        if EVENT_STREAM not in request.headers.get("accept", ""):
            return JSONResponse(_page(history, trace_filter, start, limit))
        try:
            follower = history.follow(trace_filter, all_requests=all_requests)
        except TooManyFollowers as many:
            return refused(str(many), SERVICE_UNAVAILABLE)
        begin = start if last_seen is None else last_seen + 1
        return StreamingResponse(
            _stream(history, follower, trace_filter, begin), media_type=EVENT_STREAM, headers=_FRESH
        )


_FRESH = {"cache-control": "no-store"}


def _page(history: History, trace_filter: TraceFilter, start: int | None, limit: int | None) -> Mapping[str, Any]:
    """Return the last events; or those from a number on, if one is given."""
    count = min(LIMIT if limit is None else limit, LIMIT_MAX)
    if start is None:
        return {
            "events": [event.as_json() for event in history.last(trace_filter, count)],
            "next": history.next_number,
            "lost": 0,
        }
    past = history.past(trace_filter, start, count)
    return {"events": [event.as_json() for event in past.events], "next": past.next, "lost": past.lost}


async def _stream(
    history: History, follower: Follower, trace_filter: TraceFilter, begin: int | None
) -> AsyncIterator[str]:
    """Yield the stored events from `begin` on, if that is given, and then all new events."""
    try:
        yield ": the trace of a Barnabas\n\n"
        until = history.next_number
        while begin is not None and begin < until:
            past = history.past(trace_filter, begin)
            if past.lost:
                yield _lost(past.lost)
            yield "".join(_sse(event) for event in past.events if (event.number or 0) < until)
            begin = past.next
        while not follower.is_closed:
            events, missed = follower.take()
            if missed:
                yield _lost(missed)
            if events:
                yield "".join(map(_sse, events))
                continue
            more = follower.more()
            await asyncio.wait({more}, timeout=KEEP_ALIVE_S)
            if not more.done():
                yield ": still here\n\n"
    finally:
        follower.close()


def _sse(event: TraceEvent) -> str:
    number = "" if event.number is None else f"id: {event.number}\n"
    return f"{number}event: {event.kind}\ndata: {json.dumps(event.as_json(), separators=(',', ':'))}\n\n"


def _lost(count: int) -> str:
    return f'event: lost\ndata: {{"count":{count}}}\n\n'


def _query(request: Request) -> Mapping[str, Sequence[str]]:
    """Parse the query. Raise ValueError for an unknown parameter."""
    given = parse_qs(request.url.query, keep_blank_values=True, max_num_fields=50)
    unknown = next((name for name in given if name not in FILTERS), None)
    if unknown is not None:
        meant = did_you_mean(unknown, FILTERS) or f": there are {', '.join(FILTERS)}"
        raise ValueError(f"{unknown[:40]!r} is not a parameter here{meant}")
    return given


def _is_yes(given: Mapping[str, Sequence[str]]) -> bool:
    text = (given.get("requests") or ("",))[-1]
    if text not in ("", "all"):
        raise ValueError(f"requests={text[:40]} is invalid: the only value is all")
    return text == "all"


def _header(request: Request, name: str) -> Sequence[str]:
    text = request.headers.get(name)
    return () if text is None else (text,)
