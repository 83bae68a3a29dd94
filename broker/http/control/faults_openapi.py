"""The description of /control/faults."""

from __future__ import annotations

from typing import Any

from barnabas.broker.control.faults.model import ALWAYS, COUNT_MAX, FAULTS_MAX, PLAN_VERSION
from barnabas.broker.http.control.describing import NUMBER, answer, operation, parameter
from barnabas.broker.http.control.route_group import Description

PATH = "/control/faults"
PATH_OF_ONE = "/control/faults/{name}"
PATH_OF_RELEASE = "/control/faults/{name}/release"
WAIT_MS_MAX = 60_000
_TEXT = {"type": "string"}
_NAME = parameter("name", "path", "A fault's.", _TEXT)
_COUNT = {**NUMBER, "minimum": 1}
_NO_SUCH = {"404": "There is no such fault, or it was disarmed."}

_TIMES = {
    "description": "How often it fires.",
    "oneOf": [{**NUMBER, "minimum": 1, "maximum": COUNT_MAX}, {"const": ALWAYS}],
}
_MATCH = {"type": "object", "description": "What it matches: docs/faults.md."}
_DO = {"type": "object", "description": "What it does: docs/faults.md.", "minProperties": 1}
_FAULT = {
    "type": "object",
    "properties": {
        "name": {**_TEXT, "description": "fault-1 and so on where none is given."},
        "match": _MATCH,
        "do": _DO,
        "times": {**_TIMES, "default": 1},
    },
    "required": ["match", "do"],
    "additionalProperties": False,
}
_PLAN = {
    "type": "object",
    "properties": {
        "version": {"const": PLAN_VERSION},
        "seed": {**NUMBER, "minimum": 0, "default": 0, "description": "Of random choices."},
        "faults": {"type": "array", "maxItems": FAULTS_MAX, "items": {"$ref": "#/components/schemas/Fault"}},
    },
    "required": ["version", "faults"],
    "additionalProperties": False,
}
_ARMED = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "match": _MATCH,
        "do": _DO,
        "times": _TIMES,
        "matched": {**NUMBER, "description": "How often something matched."},
        "fired": {**NUMBER, "description": "How often it took effect."},
        "standing": {**NUMBER, "description": "How many are paused by it."},
    },
    "required": ["name", "match", "do", "times", "matched", "fired", "standing"],
    "additionalProperties": False,
}
_LIST = {
    "type": "object",
    "properties": {
        "faults": {"type": "array", "items": {"$ref": "#/components/schemas/ArmedFault"}},
        "unfired": {
            "type": "array",
            "items": _TEXT,
            "description": "Names of faults that fired less often than requested.",
        },
    },
    "required": ["faults", "unfired"],
    "additionalProperties": False,
}


def _of_one() -> dict[str, Any]:
    wait = "Wait until"
    return {
        "get": operation(
            "showFault",
            "One fault, at once or when it has fired or paused often enough",
            answer("As it is now.", "ArmedFault"),
            {
                **_NO_SUCH,
                "400": "The query is invalid.",
                "504": "The condition of the query was not reached in time.",
            },
            parameters=[
                _NAME,
                parameter("wait_fired", "query", f"{wait} it has fired so often.", _COUNT),
                parameter("wait_standing", "query", f"{wait} so many requests wait at its pause.", _COUNT),
                parameter("timeout", "query", "How long: 500ms, 10s (the default), 60s at most.", _TEXT),
            ],
        ),
        "delete": operation(
            "disarmFault",
            "Disarm one fault: what it holds up continues",
            answer("As it was.", "ArmedFault"),
            _NO_SUCH,
            parameters=[_NAME],
        ),
    }


FAULTS = Description(
    paths={
        PATH: {
            "get": operation("listFaults", "The faults that are armed", answer("All of them.", "Faults")),
            "post": operation(
                "armFaults",
                "Arm a plan, or one fault",
                answer("Those that were armed, with their names.", "Faults"),
                {"400": "A part of it is invalid, or could never match; nothing is armed then."},
                body="PlanOrFault",
            ),
            "delete": operation("resetFaults", "Disarm all faults", answer("As they were.", "Faults")),
        },
        PATH_OF_ONE: _of_one(),
        PATH_OF_RELEASE: {
            "post": operation(
                "releaseFault",
                "Release what a fault has paused",
                answer("As it is then.", "ArmedFault"),
                _NO_SUCH,
                parameters=[_NAME],
            )
        },
    },
    schemas={
        "Fault": _FAULT,
        "Plan": _PLAN,
        "PlanOrFault": {"oneOf": [{"$ref": "#/components/schemas/Plan"}, {"$ref": "#/components/schemas/Fault"}]},
        "ArmedFault": _ARMED,
        "Faults": _LIST,
    },
)
