"""Descriptions of operations in OpenAPI: the parts that the routes of /control share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BODY_BYTES_MAX = 64 << 10
_EVERYWHERE = {
    "401": "The token is missing or wrong.",
    "403": "The request comes from another machine, and there is no token; or from a page of another site.",
}
_WITH_BODY = {"413": f"The body has more than {BODY_BYTES_MAX} bytes."}
NUMBER = {"type": "integer"}
REFUSAL = {
    "type": "object",
    "properties": {"error": {"type": "string", "description": "A sentence."}},
    "required": ["error"],
    "additionalProperties": False,
}


def operation(
    name: str,
    summary: str,
    found: dict[str, Any],
    refusals: dict[str, str] | None = None,
    body: str | None = None,
    parameters: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Describe one method of a path. found: the answer with status 200. body: the schema of the request's, if any."""
    descriptions = _EVERYWHERE | (refusals or {}) | ({} if body is None else _WITH_BODY)
    responses = {
        status: {"description": descriptions[status], "content": json_of("Refusal")} for status in sorted(descriptions)
    }
    described: dict[str, Any] = {"operationId": name, "summary": summary, "responses": {"200": found, **responses}}
    if parameters:
        described["parameters"] = list(parameters)
    if body is not None:
        described["requestBody"] = {"required": True, "content": json_of(body)}
    return described


def parameter(name: str, place: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Describe a part of the path, or of the query. Parts of the path are required."""
    described = {"name": name, "in": place, "description": description, "schema": schema}
    return {**described, "required": True} if place == "path" else described


def answer(description: str, schema: str) -> dict[str, Any]:
    """Describe an answer in JSON."""
    return {"description": description, "content": json_of(schema)}


def json_of(schema: str) -> dict[str, Any]:
    """Describe JSON content by one of the schemas."""
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
