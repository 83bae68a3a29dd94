"""The description of /control in OpenAPI: `python -m barnabas.broker.control.openapi > docs/control.openapi.json`."""

from __future__ import annotations

import json
import sys
from typing import Any

from barnabas.broker.control.changes import BODY_BYTES_MAX

_REFUSALS = {
    "400": "The body is none of these, or the clock would go back.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from another machine, and there is no token; or from a page of another site.",
    "413": f"The body has more than {BODY_BYTES_MAX} bytes.",
    "503": "The clock came not so far: something went on for more than a minute, a disk failed, or the broker stops.",
}
_EVERYWHERE = ("401", "403")


def document() -> dict[str, Any]:
    """The whole description."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Barnabas: control of a running broker",
            "version": "1",
            "description": "For tests. Served where `barnabas serve` is given --http and --control.",
        },
        "paths": {
            "/control/clock": {
                "get": _operation("showClock", "The clock that clients are told", _state("As it is now.")),
                "post": {
                    **_operation(
                        "changeClock",
                        "Stop the clock, let it run, or move it ahead",
                        _state("As it is when all that fell due is done."),
                        *_REFUSALS,
                    ),
                    "requestBody": {"required": True, "content": _json("Change")},
                },
            },
            "/control/openapi.json": {
                "get": _operation(
                    "describe",
                    "This description",
                    {"description": "It.", "content": {"application/json": {"schema": {"type": "object"}}}},
                )
            },
        },
        "components": {
            "schemas": {"Clock": _CLOCK, "Change": {"oneOf": _CHANGES}, "Refusal": _REFUSAL},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(name: str, summary: str, found: dict[str, Any], *refusals: str) -> dict[str, Any]:
    told = {
        status: {"description": _REFUSALS[status], "content": _json("Refusal")}
        for status in sorted({*_EVERYWHERE, *refusals})
    }
    return {"operationId": name, "summary": summary, "responses": {"200": found, **told}}


def _state(description: str) -> dict[str, Any]:
    return {"description": description, "content": _json("Clock")}


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _change(name: str, description: str, value: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": {name: value},
        "required": [name],
        "additionalProperties": False,
    }


_NUMBER = {"type": "integer"}
_CLOCK = {
    "type": "object",
    "properties": {
        "state": {"enum": ["running", "frozen", "advancing"]},
        "now_ms": {**_NUMBER, "description": "Since 1970."},
        "now": {"type": "string", "description": "The same, in ISO 8601."},
        "ahead_ms": {**_NUMBER, "description": "How far it is ahead of the machine's clock."},
    },
    "required": ["state", "now_ms", "now", "ahead_ms"],
    "additionalProperties": False,
}
_CHANGES = [
    _change("freeze", "Stand still from now on.", {"const": True}),
    _change("run", "Go on from where it stands.", {"const": True}),
    _change("advance", "Move ahead by a length of time: 500ms, 90s, 15m, 1h30m, 7d, 2w.", {"type": "string"}),
    _change("advance_ms", "Move ahead by so many milliseconds.", {**_NUMBER, "minimum": 0}),
    _change(
        "at",
        "Move ahead to a moment and stand there: in ISO 8601, UTC unless it says otherwise, or in ms since 1970.",
        {"type": ["string", "integer"]},
    ),
]
_REFUSAL = {
    "type": "object",
    "properties": {"error": {"type": "string", "description": "A sentence."}},
    "required": ["error"],
    "additionalProperties": False,
}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(document(), indent=2) + "\n")
