"""The description of /control/why."""

from __future__ import annotations

from typing import Any

from barnabas.broker.http.control.describing import NUMBER, answer, operation
from barnabas.broker.http.control.route_group import Description
from barnabas.broker.insight.why.hanging import LONGER_THAN_MS

PATH = "/control/why"
TEXT = {"type": "string"}
_REFUSALS = {
    "400": "A parameter is missing or invalid.",
    "503": "The broker stops.",
}


def _question(name: str, summary: str, parameters: dict[str, tuple[dict[str, Any], bool]]) -> dict[str, Any]:
    """Describe a query. parameters: the schema of each, and whether it is required."""
    answered = answer("Sentences, the most important one first, and their evidence.", "Why")
    if name == "hanging":
        answered = answer("Empty if nothing hangs.", "Hanging")
    described = operation(name, summary, answered, _REFUSALS)
    described["parameters"] = [
        {"name": each, "in": "query", "required": is_required, "schema": schema}
        for each, (schema, is_required) in parameters.items()
    ]
    return {"get": described}


_ANSWER = {
    "type": "object",
    "properties": {
        "sentences": {"type": "array", "items": TEXT, "minItems": 1},
        "evidence": {"type": "object", "description": "Facts by name; they depend on the answer."},
    },
    "required": ["sentences", "evidence"],
    "additionalProperties": False,
}
_HANGING = {
    "type": "object",
    "description": (
        "Answers, by what they are about: `disk`, `fault f`, `transactional id t`, `hanging transaction t-0`, "
        "`group g`, `consumer g`, `more`, `clients`."
    ),
    "additionalProperties": {"$ref": "#/components/schemas/Why"},
}
LONGER_THAN = {**NUMBER, "minimum": 0, "default": LONGER_THAN_MS}
PARAMETERS: dict[str, dict[str, tuple[dict[str, Any], bool]]] = {
    "hanging": {"longer_than_ms": (LONGER_THAN, False)},
    "consumer": {"group": (TEXT, True), "topic": (TEXT, False)},
    "producer": {"transactional_id": (TEXT, True)},
    "record": {
        "topic": (TEXT, True),
        "partition": ({**NUMBER, "minimum": 0}, True),
        "offset": ({**NUMBER, "minimum": 0}, True),
    },
    "group": {"group": (TEXT, True)},
}
"""Parameters of each query."""
_SUMMARIES = {
    "consumer": ("whyConsumer", "Why a group's consumers get nothing, or stop"),
    "producer": ("whyProducer", "Why a transactional producer was fenced or refused, or what its EndTxn waits for"),
    "record": ("whyRecord", "What happened to a record, and which consumers can read it"),
    "group": ("whyGroup", "Why a group's rebalance does not end, member by member"),
    "hanging": (
        "hanging",
        "All that hangs: disks, what faults hold up, waiting groups, and transactions open for so long, some of each",
    ),
}
WHY = Description(
    paths={
        PATH if each == "hanging" else f"{PATH}/{each}": _question(*_SUMMARIES[each], PARAMETERS[each])
        for each in PARAMETERS
    },
    schemas={"Why": _ANSWER, "Hanging": _HANGING},
)
