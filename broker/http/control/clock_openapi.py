"""The description of /control/clock."""

from __future__ import annotations

from typing import Any

from barnabas.broker.http.control.describing import NUMBER, answer, operation
from barnabas.broker.http.control.route_group import Description

PATH = "/control/clock"
_REFUSALS = {
    "400": "The body is none of these, or the clock would go back.",
    "503": "The clock did not reach the requested time: something took more than a minute, a disk failed, "
    "or the broker stops.",
}


def _change(name: str, description: str, value: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": {name: value},
        "required": [name],
        "additionalProperties": False,
    }


_CLOCK = {
    "type": "object",
    "properties": {
        "state": {"enum": ["running", "frozen", "advancing"]},
        "now_ms": {**NUMBER, "description": "Since 1970."},
        "now": {"type": "string", "description": "The same, in ISO 8601."},
        "ahead_ms": {**NUMBER, "description": "How far it is ahead of the machine's clock."},
    },
    "required": ["state", "now_ms", "now", "ahead_ms"],
    "additionalProperties": False,
}
_CHANGES = [
    _change("freeze", "Freeze the clock.", {"const": True}),
    _change("run", "Run again from where it is frozen.", {"const": True}),
    _change("advance", "Move ahead by a length of time: 500ms, 90s, 15m, 1h30m, 7d, 2w.", {"type": "string"}),
    _change("advance_ms", "Move ahead by so many milliseconds.", {**NUMBER, "minimum": 0}),
    _change(
        "at",
        "Move ahead to a moment and freeze there: in ISO 8601, UTC by default, or in ms since 1970.",
        {"type": ["string", "integer"]},
    ),
]
CLOCK = Description(
    paths={
        PATH: {
            "get": operation("showClock", "The clock that clients see", answer("As it is now.", "Clock")),
            "post": operation(
                "changeClock",
                "Stop the clock, let it run, or move it ahead",
                answer("The clock after everything that was due is done.", "Clock"),
                _REFUSALS,
                body="Change",
            ),
        }
    },
    schemas={"Clock": _CLOCK, "Change": {"oneOf": _CHANGES}},
)
