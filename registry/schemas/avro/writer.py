# compiled: mypyc
"""Avro's types as text: Java's Schema.toString.

Java writes what the specification names in an order of its own, keeps other attributes in theirs, and leaves out a
namespace that is the enclosing one's. A type is written once, and then by its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.registry.schemas.avro.model import (
    COLLECTIONS,
    MISSING,
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
from barnabas.registry.schemas.json_text import printed, quoted


def canonical(type_: AvroType, known: Iterable[str]) -> str:
    """Return what Java's Schema.toString does; `known` has the full names that are written by name alone."""
    return _Writer(set(known)).write(type_)


class _Writer:
    """A text that grows, and the names that were written."""

    def __init__(self, known: set[str]) -> None:
        self._known = known
        self._out: list[str] = []

    def write(self, type_: AvroType) -> str:
        run(self._type(type_, ""))
        return "".join(self._out)

    def _type(self, type_: AvroType, namespace: str) -> Deep[None]:
        if isinstance(type_, AvroReference):
            if type_.target is None:
                self._out.append(quoted(type_.name))
                return
            type_ = type_.target
        if isinstance(type_, AvroUnion):
            yield self._union(type_, namespace)
        elif isinstance(type_, AvroNamed):
            if type_.name.full in self._known:
                self._out.append(quoted(type_.name.within(namespace)))
            else:
                self._known.add(type_.name.full)
                yield self._named(type_, namespace)
        elif isinstance(type_, AvroCollection):
            self._out.append(f'{{"type":"{type_.kind}","{COLLECTIONS[type_.kind]}":')
            yield self._type(type_.values, namespace)
            self._out.append(_attributes(type_.properties) + "}")
        else:
            self._out.append(_primitive(type_))

    def _is_written(self, type_: AvroType) -> bool:
        """Write a primitive type, which needs no stack. Return whether it was one."""
        is_primitive = type(type_) is AvroType
        if is_primitive:
            self._out.append(_primitive(type_))
        return is_primitive

    def _union(self, union: AvroUnion, namespace: str) -> Deep[None]:
        self._out.append("[")
        for position, branch in enumerate(union.branches):
            if position:
                self._out.append(",")
            if not self._is_written(branch):
                yield self._type(branch, namespace)
        self._out.append("]")

    def _named(self, type_: AvroNamed, namespace: str) -> Deep[None]:
        kind = "error" if isinstance(type_, AvroRecord) and type_.is_error else type_.kind
        self._out.append(f'{{"type":"{kind}"{_name(type_.name, namespace)}')
        if type_.doc is not None:
            self._out.append(f',"doc":{quoted(type_.doc)}')
        if isinstance(type_, AvroRecord):
            self._out.append(',"fields":[')
            for position, field in enumerate(type_.fields):
                self._out.append(f'{"," if position else ""}{{"name":{quoted(field.name)},"type":')
                if not self._is_written(field.type):
                    yield self._type(field.type, type_.name.namespace)
                self._end_of(field)
            self._out.append("]")
        elif isinstance(type_, AvroEnum):
            self._out.append(f',"symbols":{printed(list(type_.symbols))}')
            if type_.default is not None:
                self._out.append(f',"default":{quoted(type_.default)}')
        elif isinstance(type_, AvroFixed):
            self._out.append(f',"size":{type_.size}')
        self._out.append(_attributes(type_.properties))
        if type_.aliases:
            names = [alias.within(type_.name.namespace) for alias in type_.aliases]
            self._out.append(f',"aliases":{printed(names)}')
        self._out.append("}")

    def _end_of(self, field: AvroField) -> None:
        if field.doc is not None:
            self._out.append(f',"doc":{quoted(field.doc)}')
        if field.default is not MISSING:
            self._out.append(f',"default":{printed(field.default)}')
        if field.order != "ascending":
            self._out.append(f',"order":"{field.order}"')
        if field.aliases:
            self._out.append(f',"aliases":{printed(list(field.aliases))}')
        self._out.append(_attributes(field.properties) + "}")


def _primitive(type_: AvroType) -> str:
    attributes = _attributes(type_.properties)
    return f'{{"type":"{type_.kind}"{attributes}}}' if attributes else f'"{type_.kind}"'


def _name(name: AvroName, namespace: str) -> str:
    """Return the attributes that name a type; an empty namespace is written where the enclosing one is not empty."""
    space = "" if name.namespace == namespace else f',"namespace":{quoted(name.namespace)}'
    return f',"name":{quoted(name.simple)}{space}'


def _attributes(properties: dict[str, Any]) -> str:
    return "" if not properties else "".join(f",{quoted(key)}:{printed(value)}" for key, value in properties.items())
