"""An error answer to any request: the code in its usual place, as in Kafka's `getErrorResponse`.

If the response has an error code at its top, it goes there. Otherwise each topic, partition, group or resource of the
request gets it: the response lists the elements of the request, with fields of the same name copied; if the request
listed nothing, neither does the answer. A request may list very many: there is a pause after each.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from barnabas.protocol.codec.schema import Field, Response, Struct, default_instance
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.registry import ApiSpec
from barnabas.storage.steps import Steps, finish

# The name of a list in a response, and its possible names in the request.
_REQUESTED_AS: dict[str, tuple[str, ...]] = {
    "responses": ("topics", "topic_data", "resources", "topic_names"),
    "results": ("topics", "resources", "groups_names", "dirs.topics", "creations", "upsertions", "deletions"),
    "filter_results": ("filters",),
    "coordinators": ("coordinator_keys",),
    "partitions": ("partition_indexes",),
    "groups": ("group_ids",),
    "results_by_transaction": ("transactions",),
    "results_by_topic_v3_and_below": ("v3_and_below_topics",),
    "topic_results": ("topics",),
    "results_by_partition": ("partitions",),
    "transaction_states": ("transactional_ids",),
    "replica_election_results": ("topic_partitions",),
    "partition_result": ("partitions",),
    "partition_responses": ("partition_data",),
}
_CODE_FIELDS = ("error_code", "partition_error_code")
# Elements that are bare values in the request (names, indexes), and the field that holds one in the response.
_BARE_VALUE_FIELDS = ("name", "partition_index", "partition_id", "key", "group_id", "transactional_id")
# Lists that identify an element rather than being answered one by one.
_IDENTIFYING = ("entity",)
# Lists that are null in a refusal, and not empty.
_NULL_WHEN_REFUSED = {"DescribeClientQuotasResponse": "entries"}
# Responses whose lists are empty in a refusal: the code stands at the top only.
_REFUSED_AT_THE_TOP = ("ShareFetchResponse", "ShareAcknowledgeResponse")
# Fields that have another name in the request.
_CARRIED_FROM = {"topic_name": "name", "partition_index": "partition", "user": "name"}


def error_response(
    spec: ApiSpec, version: int, request: Struct, code: ErrorCode, message: str | None
) -> Response | None:
    """Return the response that has `code` for everything in `request`, or None when it has no place for a code."""
    return finish(error_response_in_steps(spec, version, request, code, message))


def error_response_in_steps(
    spec: ApiSpec, version: int, request: Struct, code: ErrorCode, message: str | None
) -> Steps[Response | None]:
    """Build `error_response` in steps. The request must not change meanwhile."""
    response: Response = default_instance(spec.response)
    if (name := _NULL_WHEN_REFUSED.get(spec.response.__name__)) is not None:
        setattr(response, name, None)
    is_placed = yield from _fill(response, request, version, code, message)
    if spec.response.__name__ in _REFUSED_AT_THE_TOP:
        response.responses = []  # type: ignore[attr-defined]  # because both have it
    return response if is_placed else None


@cache
def _fields(struct: type[Struct], version: int) -> dict[str, Field]:
    """Return the fields of the version."""
    return {each.name: each for each in struct.__schema__.fields if each.in_version(version)}


def _fill(answer: Struct, request: Any, version: int, code: ErrorCode, message: str | None) -> Steps[bool]:
    """Put the code into `answer` or the lists within it; return whether it found a place."""
    fields = _fields(type(answer), version)
    code_fields = [name for name in _CODE_FIELDS if name in fields]
    for name in code_fields:
        setattr(answer, name, code)
        if "error_message" in fields:
            answer.error_message = message  # type: ignore[attr-defined]  # because the schema says it is there
    placed = bool(code_fields)
    for field in fields.values():
        element = field.type.element
        if element is not None and element.struct is not None:
            is_listed = yield from _fill_list(answer, field, element.struct, request, version, code, message)
            placed = is_listed or placed
    return placed


def _fill_list(
    answer: Struct,
    field: Field,
    struct: type[Struct],
    request: Any,
    version: int,
    code: ErrorCode,
    message: str | None,
) -> Steps[bool]:
    is_requested = False
    for name in (field.name, *_REQUESTED_AS.get(field.name, ())):
        elements = _listed(request, name)
        if elements:
            break
        is_requested = is_requested or hasattr(request, name.partition(".")[0])
    else:
        return is_requested  # the request listed nothing, so nothing has to be answered
    answered = []
    placed = False
    for each in elements:
        one = default_instance(struct)
        _carry_over(one, each)
        placed = (yield from _fill(one, each, version, code, message)) or placed
        answered.append(one)
        yield
    if placed:
        setattr(answer, field.name, answered)
    return placed


def _listed(request: Any, path: str) -> list[Any] | None:
    """Return the list of this name; with a dot in it, the lists of the second name in its elements, as one."""
    outer, _, inner = path.partition(".")
    elements: list[Any] | None = getattr(request, outer, None)
    return [each for element in elements or () for each in getattr(element, inner)] if inner else elements


def _carry_over(answer: Struct, request: Any) -> None:
    """Copy the fields that identify the element: non-lists of the same name, and the identifying lists."""
    names = [each.name for each in answer.__schema__.fields]
    for field in answer.__schema__.fields:
        element = field.type.element
        if field.name in _IDENTIFYING and element is not None and element.struct is not None:
            parts = [default_instance(element.struct) for _ in getattr(request, field.name)]
            for part, requested_part in zip(parts, getattr(request, field.name), strict=True):
                _carry_over(part, requested_part)
            setattr(answer, field.name, parts)
    if not isinstance(request, Struct):
        for name in _BARE_VALUE_FIELDS:
            if name in names:
                setattr(answer, name, request)
                return
    for name in names:
        value = getattr(request, name, getattr(request, _CARRIED_FROM.get(name, name), None))
        if value is not None and not isinstance(value, list):
            setattr(answer, name, value)
