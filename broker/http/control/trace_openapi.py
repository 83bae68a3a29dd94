"""The description of /control/trace."""

from __future__ import annotations

from typing import Any

from barnabas.broker.http.control.describing import NUMBER, answer, operation
from barnabas.broker.http.control.route_group import Description

PATH = "/control/trace"
LIMIT, LIMIT_MAX = 100, 1_000
_TEXT, _OBJECT = {"type": "string"}, {"type": "object"}

FILTERS: dict[str, tuple[str, dict[str, Any]]] = {
    "kind": (
        "Kinds of events, or what their names begin with, by commas: transaction,group.member_left",
        _TEXT,
    ),
    "transactional_id": ("Only events of this transactional id.", _TEXT),
    "group": ("Only events of this group.", _TEXT),
    "topic": ("Only events of this topic.", _TEXT),
    "partition": ("Of the topic, only this partition.", NUMBER),
    "client_id": ("Only what this client led to.", _TEXT),
    "producer_id": ("Only events of this producer.", NUMBER),
    "from": ("Of the stored events, from this number on; without it, the last events.", NUMBER),
    "limit": (f"How many events at most: {LIMIT} unless given, {LIMIT_MAX} at most.", NUMBER),
    "requests": ("all: a follower receives every request, also those that carry data. They are not stored.", _TEXT),
}
"""Parameters of the query, with their meaning."""

_EVENT = {
    "type": "object",
    "properties": {
        "number": {"type": ["integer", "null"], "description": "Counts from 1. None for events that are not stored."},
        "at_ms": {**NUMBER, "description": "When, by the clock that clients see, in ms since 1970."},
        "machine_at_ms": {**NUMBER, "description": "The same by the machine's clock."},
        "kind": {"type": "string", "description": "What happened: docs/trace.md."},
        "facts": {**_OBJECT, "description": "Its facts."},
        "cause": {**_OBJECT, "description": "The request or the timer that led to it; empty if it is not known."},
    },
    "required": ["number", "at_ms", "machine_at_ms", "kind", "facts", "cause"],
    "additionalProperties": False,
}
_PAGE = {
    "type": "object",
    "properties": {
        "events": {"type": "array", "items": {"$ref": "#/components/schemas/Event"}},
        "next": {**NUMBER, "description": "What to ask for next, as `from`."},
        "lost": {**NUMBER, "description": "How many events from `from` on are no longer stored."},
    },
    "required": ["events", "next", "lost"],
    "additionalProperties": False,
}
_REFUSALS = {
    "400": "A kind that does not exist, a number that is none, or an unknown parameter.",
    "503": "The maximum number of clients follow already.",
}


def _operation() -> dict[str, Any]:
    found = answer("Events, the oldest first.", "Trace")
    found["content"]["text/event-stream"] = {"schema": {**_TEXT, "description": "With Accept: text/event-stream."}}
    described = operation("trace", "What happened last, or, as server-sent events, what happens", found, _REFUSALS)
    described["parameters"] = [
        {"name": name, "in": "query", "description": text, "schema": schema} for name, (text, schema) in FILTERS.items()
    ] + [
        {
            "name": "Last-Event-ID",
            "in": "header",
            "description": "A client that follows again continues after this number, as far as events are stored.",
            "schema": NUMBER,
        }
    ]
    return described


TRACE = Description({PATH: {"get": _operation()}}, {"Event": _EVENT, "Trace": _PAGE})
