"""The content model of objects and arrays: what is allowed beside what a schema names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from barnabas.registry.schemas.json_schema.model import JsonArrayShape, JsonObjectShape, JsonShape

_MAX_PATTERN = 1_000  # of its characters
_MEMORY_MAX = 1 << 20  # of a compiled pattern
_REPEATED_GROUP = re.compile(r"\)[*+{?]")


def is_open(shape: JsonObjectShape | JsonArrayShape) -> bool:
    """Return whether anything is allowed."""
    if not shape.additional or shape.additional_schema is not None:
        return False
    if isinstance(shape, JsonObjectShape) and shape.pattern_properties:
        return False
    return shape.unevaluated is None or shape.unevaluated.target.accepts_all


def partial(shape: JsonObjectShape | JsonArrayShape, key: str | None = None) -> JsonShape | None:
    """Return the schema of what is not named, for an object's property `key`; None in a closed model."""
    if isinstance(shape, JsonObjectShape) and key is not None:
        for pattern, schema in shape.pattern_properties.items():
            if _matches(pattern, key):
                return schema
    if shape.additional_schema is not None:
        return shape.additional_schema
    rest = shape.unevaluated
    if not shape.additional or rest is None or rest.target.kind == "false" or rest.target.accepts_all:
        return None
    return rest


def _matches(pattern: str, key: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is not None and compiled.search(key) is not None


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> Any:
    """Return a pattern that takes linear time, None for one that does not or is invalid: it matches nothing."""
    if len(pattern) > _MAX_PATTERN:
        return None
    try:
        import re2  # type: ignore[import-untyped]  # because it comes without stubs
    except ModuleNotFoundError:
        return _compiled_by_python(pattern)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_MAX
    try:
        return re2.compile(pattern, options=options)
    except re2.error:
        return None


def _compiled_by_python(pattern: str) -> Any:
    if _REPEATED_GROUP.search(pattern):
        return None
    try:
        return re.compile(pattern)
    except (re.error, OverflowError):
        return None
