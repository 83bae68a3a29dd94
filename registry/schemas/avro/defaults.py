"""Whether the default of a field is a value of its type (Avro 1.12: of any branch, where the type is a union)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.registry.schemas import json_text
from barnabas.registry.schemas.avro.model import (
    MISSING,
    AvroCollection,
    AvroField,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from barnabas.registry.schemas.deep import Deep, run
from barnabas.registry.schemas.parsed_schema import InvalidSchema

_TEXTS = frozenset(("string", "bytes", "enum", "fixed"))
_BITS = {"int": 31, "long": 63}
_SHOWN = 80  # of a value in a message


def check(fields: Iterable[AvroField]) -> None:
    """Raise InvalidSchema for the first field whose default does not fit."""
    checks = _Checks()
    for field in fields:
        if field.default is not MISSING and not run(checks.fits(field.type, field.default)):
            shown = json_text.printed(field.default)[:_SHOWN]
            raise InvalidSchema(f'The default {shown} of the field "{field.name}" is no value of its type.')


class _Checks:
    """The records that were asked about, each once for a value: defaults within defaults would multiply."""

    def __init__(self) -> None:
        self._records: dict[tuple[int, int], bool] = {}

    def fits(self, type_: AvroType, value: Any) -> Deep[bool]:
        """Return whether a JSON value is one of a type."""
        type_ = type_.resolved
        if isinstance(type_, AvroUnion):
            for branch in type_.branches:
                if (yield self.fits(branch, value)):
                    return True
            return False
        if isinstance(type_, AvroCollection):
            result: bool = yield self._values_fit(type_, value)
            return result
        if isinstance(type_, AvroRecord):
            result = yield self._record_fits(type_, value)
            return result
        return _is_scalar(type_.kind, value)

    def _values_fit(self, type_: AvroCollection, value: Any) -> Deep[bool]:
        if not isinstance(value, list if type_.kind == "array" else dict):
            return False
        for each in value.values() if isinstance(value, dict) else value:
            if not (yield self.fits(type_.values, each)):
                return False
        return True

    def _record_fits(self, record: AvroRecord, value: Any) -> Deep[bool]:
        if not isinstance(value, dict):
            return False
        pair = (id(record), id(value))
        if pair in self._records:
            return self._records[pair]
        self._records[pair] = False  # while it is under way: a default that is part of itself has no end
        for field in record.fields:
            given = value.get(field.name, field.default)
            if given is MISSING or not (yield self.fits(field.type, given)):
                return False
        self._records[pair] = True
        return True


def _is_scalar(kind: str, value: Any) -> bool:
    if kind in _TEXTS:
        return isinstance(value, str)
    if kind in _BITS:
        return type(value) is int and -(1 << _BITS[kind]) <= value < 1 << _BITS[kind]
    if kind == "boolean":
        return isinstance(value, bool)
    return value is None if kind == "null" else isinstance(value, int | float) and not isinstance(value, bool)
