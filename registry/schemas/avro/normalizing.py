"""Confluent's normalized form of an Avro schema: all that has no order of its own gets one.

Aliases and attributes are sorted, those of a valid logical type come first, an empty doc of a type goes, and defaults
are written as their type has them (a double's default 1 is 1.0).
"""

from __future__ import annotations

import math
from typing import Any

from barnabas.registry.schemas.avro.model import (
    MISSING,
    AvroCollection,
    AvroFixed,
    AvroNamed,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from barnabas.registry.schemas.deep import Deep, run
from barnabas.registry.schemas.json_text import single_precision, with_sorted_keys

# What a logical type may stand on: where it stands on something else, it is an attribute like any other.
_LOGICAL_TYPES = {
    "big-decimal": ("bytes",),
    "date": ("int",),
    "decimal": ("bytes", "fixed"),
    "duration": ("fixed",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-nanos": ("long",),
    "time-micros": ("long",),
    "time-millis": ("int",),
    "timestamp-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-nanos": ("long",),
    "uuid": ("string", "fixed"),
}
_SIZES = {"duration": 12, "uuid": 16}  # of a fixed
_KINDS_OF_TEXT = frozenset(("string", "bytes", "enum", "fixed"))
_INT = range(-(2**31), 2**31)


def normalize(type_: AvroType) -> None:
    """Change a type, and those within it, to the normalized form."""
    waiting, seen = [type_], set()
    while waiting:
        each = waiting.pop().resolved
        if id(each) in seen:
            continue
        seen.add(id(each))
        first = _logical_attributes(each)
        each.properties = _sorted(each.properties, first)
        if isinstance(each, AvroNamed):
            each.doc = each.doc or None
            each.aliases = [alias for _, alias in sorted(zip(each.alias_names, each.aliases, strict=True))]
        if isinstance(each, AvroRecord):
            _normalize_fields(each)
            waiting.extend(field.type for field in each.fields)
        elif isinstance(each, AvroUnion):
            waiting.extend(each.branches)
        elif isinstance(each, AvroCollection):
            waiting.append(each.values)


def _normalize_fields(record: AvroRecord) -> None:
    for field in record.fields:
        field.aliases = sorted(field.aliases)
        field.properties = _sorted(field.properties)
        if field.default is not MISSING:
            field.default = with_sorted_keys(run(_as_type(field.type, field.default)))


def _logical_attributes(type_: AvroType) -> tuple[str, ...]:
    """Return the attributes of a type's logical type, if it has a valid one."""
    name = type_.properties.get("logicalType")
    if not isinstance(name, str) or type_.kind not in _LOGICAL_TYPES.get(name, ()):
        return ()
    if name != "decimal":
        fits = not isinstance(type_, AvroFixed) or type_.size == _SIZES.get(name)
        return ("logicalType",) if fits else ()
    precision, scale = type_.properties.get("precision"), type_.properties.get("scale", 0)
    most = math.floor(math.log10(2) * (8 * type_.size - 1)) if isinstance(type_, AvroFixed) else _INT[-1]
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision <= most or precision == 0:
        return ()
    return ("logicalType", "precision", "scale") if scale else ("logicalType", "precision")


def _sorted(properties: dict[str, Any], first: tuple[str, ...] = ()) -> dict[str, Any]:
    keys = (*first, *sorted(key for key in properties if key not in first))
    return {key: with_sorted_keys(properties[key]) for key in keys}


def _as_type(type_: AvroType, value: Any) -> Deep[Any]:
    """Return a default as Java holds it for a type, MISSING if it is none of it."""
    type_ = type_.resolved
    if value is None:
        return None
    if isinstance(type_, AvroUnion):
        for branch in type_.branches:
            held = MISSING if branch.kind == "null" else (yield _as_type(branch, value))
            if held is not MISSING:
                return held
        return MISSING
    if isinstance(value, list):
        result: Any = yield _elements_as_type(type_, value)
        return result
    if isinstance(value, dict):
        result = yield _members_as_type(type_, value)
        return result
    return _scalar_as_type(type_.kind, value)


def _elements_as_type(type_: AvroType, value: list[Any]) -> Deep[Any]:
    if not isinstance(type_, AvroCollection) or type_.kind != "array":
        return MISSING
    held = []
    for each in value:
        held.append(_or_null((yield _as_type(type_.values, each))))
    return held


def _members_as_type(type_: AvroType, value: dict[str, Any]) -> Deep[Any]:
    if isinstance(type_, AvroRecord):
        types = {field.name: field.type for field in type_.fields}
    elif isinstance(type_, AvroCollection) and type_.kind == "map":
        types = dict.fromkeys(value, type_.values)
    else:
        types = {}
    held = {}
    for key, each in value.items():
        held[key] = _or_null((yield _as_type(types[key], each))) if key in types else each
    return held


def _or_null(held: Any) -> Any:
    """Return what is written of a part of a default: null for a value that is none of its type, as Java holds it."""
    return None if held is MISSING else held


def _scalar_as_type(kind: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if kind in _KINDS_OF_TEXT else MISSING
    if kind == "double":
        return _double(value)
    if kind == "float":
        return single_precision(_double(value))
    fits = isinstance(value, int) and (kind == "long" or (kind == "int" and value in _INT))
    return value if fits else MISSING


def _double(value: float) -> float:
    """Return a number as a double: an integer that is too large is infinite, as a number with a point is."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
