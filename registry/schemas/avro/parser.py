# compiled: mypyc
"""From a JSON text to Avro's types, with what the specification and Java's library ask of them.

A name may be used before its definition; a definition may be repeated if it is the same. A new schema has names of
ASCII letters, digits and underscores, and defaults that fit; for a stored one, which an older registry may have let in,
names may have any letters and defaults are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from barnabas.registry.schemas import json_text
from barnabas.registry.schemas.avro import defaults, writer
from barnabas.registry.schemas.avro.model import (
    COLLECTIONS,
    MISSING,
    PRIMITIVES,
    AvroCollection,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroName,
    AvroNamed,
    AvroRecord,
    AvroReference,
    AvroType,
    AvroUnion,
)
from barnabas.registry.schemas.deep import Deep, run
from barnabas.registry.schemas.parsed_schema import InvalidSchema

_STRICT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LENIENT_NAME = re.compile(r"[^\W\d]\w*")
_RESERVED = frozenset(("doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"))
_RESERVED_OF_ENUM = _RESERVED | {"default"}
_RESERVED_OF_FIELD = frozenset(("default", "doc", "name", "order", "type", "aliases"))
_ORDERS = frozenset(("ascending", "descending", "ignore"))
_MAX_INT = 2**31 - 1
_SHOWN = 80  # of a value in a message


class AvroParser:
    """Schemas read one after the other, of which the later may name what the earlier define."""

    def __init__(self, *, is_new: bool) -> None:
        self._is_new = is_new
        self._name = _STRICT_NAME if is_new else _LENIENT_NAME
        self._types: dict[str, AvroNamed] = {}
        self._references: list[AvroReference] = []
        self._fields: list[AvroField] = []

    def parse(self, text: str) -> AvroType:
        """Return the type that a text is; what it names must be defined in it or before it."""
        parsed = run(self._type(json_text.read(text, comments=True), ""))
        for reference in self._references:
            reference.target = self._types.get(reference.name)
            if reference.target is None:
                raise InvalidSchema(f'The type "{reference.name}" is not defined.')
        if self._is_new:
            defaults.check(self._fields)
        self._references.clear()
        self._fields.clear()
        return parsed.resolved

    def _type(self, node: Any, namespace: str) -> Deep[AvroType]:
        simple = self._simple(node, namespace)
        if simple is not None:
            return simple
        if isinstance(node, list):
            result: AvroType = yield self._union(node, namespace)
            return result
        if not isinstance(node, dict):
            raise InvalidSchema(f"A schema is a name, an object or a list of these, and not {_shown(node)}.")
        kind = _text(node, "type")
        if kind is None:
            raise InvalidSchema(f'A schema needs a "type" that is a name: {_shown(node)}.')
        reader = _READERS.get(kind)
        if reader is None:
            if self._is_new:  # as Java since 1.12.2; libraries before took the name of a type here
                raise InvalidSchema(f'The "type" of an object is a kind of type, and not {_shown(kind)}.')
            return self._named(kind, namespace)
        result = yield reader(self, node, namespace)
        return result

    def _simple(self, node: Any, namespace: str) -> AvroType | None:
        """Return the type of a node that can have no other types in it: a name, or a primitive type."""
        if isinstance(node, str):
            return self._named(node, namespace)
        kind = _text(node, "type") if isinstance(node, dict) else None
        if kind is None or kind not in PRIMITIVES:
            return None
        return AvroType(kind, _properties(node, _RESERVED))

    def _named(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        known = self._types.get(full) or self._types.get(name)
        if known is None:
            reference = AvroReference("reference", name=full)
            self._references.append(reference)
            return reference
        return known

    def _union(self, nodes: list[Any], namespace: str) -> Deep[AvroType]:
        branches: list[AvroType] = []
        seen: set[str] = set()
        for node in nodes:
            branch: AvroType = self._simple(node, namespace) or (yield self._type(node, namespace))
            if isinstance(branch, AvroUnion):
                raise InvalidSchema("A union has no union as a branch.")
            if branch.branch_name in seen:
                raise InvalidSchema(f'A union has the branch "{branch.branch_name}" twice.')
            seen.add(branch.branch_name)
            branches.append(branch)
        return AvroUnion("union", branches=branches)

    def _collection(self, node: dict[str, Any], namespace: str) -> Deep[AvroType]:
        kind = node["type"]
        if COLLECTIONS[kind] not in node:
            raise InvalidSchema(f'The type {kind} needs "{COLLECTIONS[kind]}": {_shown(node)}.')
        inner = node[COLLECTIONS[kind]]
        values = self._simple(inner, namespace) or (yield self._type(inner, namespace))
        return AvroCollection(kind, _properties(node, _RESERVED), values=values)

    def _record(self, node: dict[str, Any], namespace: str) -> Deep[AvroType]:
        name = self._name_of(node, namespace)
        if not isinstance(node.get("fields"), list):
            raise InvalidSchema(f'The record "{name.full}" needs a list of "fields".')
        fields: dict[str, AvroField] = {}
        for each in node["fields"]:
            if not isinstance(each, dict) or _text(each, "name") is None or "type" not in each:
                raise InvalidSchema(f'A field of "{name.full}" needs a "name" and a "type": {_shown(each)}.')
            type_ = self._simple(each["type"], name.namespace) or (yield self._type(each["type"], name.namespace))
            field = self._field(each, type_)
            if field.name in fields:
                raise InvalidSchema(f'The record "{name.full}" has the field "{field.name}" twice.')
            fields[field.name] = field
        record = AvroRecord(
            "record",
            _properties(node, _RESERVED),
            name=name,
            doc=_text(node, "doc"),
            aliases=self._aliases_of(node, name),
            fields=list(fields.values()),
            is_error=node["type"] == "error",
        )
        return self._define(record)

    def _field(self, node: dict[str, Any], type_: AvroType) -> AvroField:
        field = AvroField(node["name"], type_)
        if len(node) > 2:
            self._describe(field, node)
        else:
            self._valid(field.name)
        self._fields.append(field)
        return field

    def _describe(self, field: AvroField, node: dict[str, Any]) -> None:
        """Check a field's name, and give it what was written beside name and type."""
        order = node.get("order", field.order)
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise InvalidSchema(f'The order of the field "{field.name}" is ascending, descending or ignore.')
        field.order = order.lower()
        field.default = node.get("default", MISSING)
        if field.type.kind in ("float", "double") and isinstance(field.default, str):
            field.default = _number(field.default)
        self._valid(field.name)
        field.doc = _text(node, "doc")
        field.aliases = _aliases(node)
        field.properties = _properties(node, _RESERVED_OF_FIELD)

    def _enum(self, node: dict[str, Any], namespace: str) -> Deep[AvroType]:
        name = self._name_of(node, namespace)
        symbols = node.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(each, str) for each in symbols):
            raise InvalidSchema(f'The enum "{name.full}" needs a list of "symbols".')
        if len(set(symbols)) < len(symbols):
            raise InvalidSchema(f'The enum "{name.full}" has a symbol twice.')
        default = _text(node, "default")
        if default is not None and default not in symbols:
            raise InvalidSchema(f'The default of the enum "{name.full}" is none of its symbols.')
        enum = AvroEnum(
            "enum",
            _properties(node, _RESERVED_OF_ENUM),
            name=name,
            doc=_text(node, "doc"),
            aliases=self._aliases_of(node, name),
            symbols=[self._valid(symbol) for symbol in symbols],
            default=default,
        )
        return self._define(enum)
        yield

    def _fixed(self, node: dict[str, Any], namespace: str) -> Deep[AvroType]:
        name = self._name_of(node, namespace)
        size = node.get("size")
        if type(size) is not int or not 0 <= size <= _MAX_INT:
            raise InvalidSchema(f'The fixed "{name.full}" needs a "size" in bytes.')
        fixed = AvroFixed(
            "fixed",
            _properties(node, _RESERVED),
            name=name,
            doc=_text(node, "doc"),
            aliases=self._aliases_of(node, name),
            size=size,
        )
        return self._define(fixed)
        yield

    def _define(self, defined: AvroNamed) -> AvroNamed:
        known = self._types.setdefault(defined.name.full, defined)
        if known is not defined and writer.canonical(known, ()) != writer.canonical(defined, ()):
            raise InvalidSchema(f'The type "{defined.name.full}" is defined twice, and not the same.')
        return defined

    def _name_of(self, node: dict[str, Any], namespace: str) -> AvroName:
        given = _text(node, "name")
        if given is None:
            raise InvalidSchema(f'The type {node["type"]} needs a "name": {_shown(node)}.')
        space = _text(node, "namespace")
        name = self._full_name(given, namespace if space is None else space)
        if name.full in PRIMITIVES:
            raise InvalidSchema(f'A type may not be named "{name.full}", as a primitive is.')
        if name.namespace and self._is_new:
            for part in name.namespace.split("."):
                self._valid(part)
        return name

    def _full_name(self, name: str, namespace: str) -> AvroName:
        space, dot, simple = name.rpartition(".")
        return AvroName(self._valid(simple), space if dot else namespace)

    def _aliases_of(self, node: dict[str, Any], name: AvroName) -> list[AvroName]:
        return list(dict.fromkeys(self._full_name(alias, name.namespace) for alias in _aliases(node)))

    def _valid(self, name: str) -> str:
        if not self._name.fullmatch(name):
            raise InvalidSchema(f'The name "{name[:_SHOWN]}" is not made of letters, digits and underscores.')
        return name


_READERS: dict[str, Callable[[AvroParser, dict[str, Any], str], Deep[AvroType]]] = {
    **dict.fromkeys(("record", "error"), AvroParser._record),
    **dict.fromkeys(COLLECTIONS, AvroParser._collection),
    "enum": AvroParser._enum,
    "fixed": AvroParser._fixed,
}


def _text(node: dict[str, Any], key: str) -> str | None:
    value = node.get(key)
    return value if isinstance(value, str) else None


def _aliases(node: dict[str, Any]) -> list[str]:
    if "aliases" not in node:
        return []
    aliases = node["aliases"]
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise InvalidSchema(f'The "aliases" are no list of names: {_shown(aliases)}.')
    return list(dict.fromkeys(aliases))


def _properties(node: dict[str, Any], reserved: frozenset[str]) -> dict[str, Any]:
    return {} if reserved.issuperset(node) else {key: value for key, value in node.items() if key not in reserved}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidSchema(f'The default "{text[:_SHOWN]}" is no number.') from None


def _shown(value: Any) -> str:
    text = json_text.printed(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
