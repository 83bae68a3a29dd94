"""The types that an Avro schema is made of.

A type is known by identity: two equal records are two types. A reference to a type that was not defined yet when it was
read is an AvroReference; whoever follows a type asks for `resolved`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
COLLECTIONS = {"array": "items", "map": "values"}
TYPE_NAMES = PRIMITIVES | {"record", "enum", "array", "map", "union", "fixed"}

MISSING: Any = object()  # no default: None is the default null


class AvroName(NamedTuple):
    """A name and its namespace; both empty for a type without a name."""

    simple: str
    namespace: str = ""

    @property
    def full(self) -> str:
        """The name with its namespace."""
        return f"{self.namespace}.{self.simple}" if self.namespace else self.simple

    def within(self, namespace: str) -> str:
        """Return what refers to the name from a namespace; a name that is also a type's (`int`) needs its own."""
        short = bool(self.namespace) and self.namespace == namespace and self.simple not in TYPE_NAMES
        return self.simple if short else self.full


@dataclass(slots=True, eq=False)
class AvroType:
    """A primitive type, and what every type has: its kind, and the attributes that the specification does not name."""

    kind: str
    properties: dict[str, Any] = field(default_factory=dict)

    @property
    def resolved(self) -> AvroType:
        """The type itself."""
        return self

    @property
    def branch_name(self) -> str:
        """The name of the type in a union, which has it once."""
        return self.kind


@dataclass(slots=True, eq=False)
class AvroCollection(AvroType):
    """An array, or a map."""

    values: AvroType = field(kw_only=True)


@dataclass(slots=True, eq=False)
class AvroUnion(AvroType):
    """A union of other types."""

    branches: Sequence[AvroType] = ()


@dataclass(slots=True, eq=False)
class AvroNamed(AvroType):
    """A type with a name: a record, an enum or a fixed."""

    name: AvroName = field(kw_only=True)
    doc: str | None = None
    aliases: Sequence[AvroName] = ()

    @property
    def branch_name(self) -> str:
        """The full name."""
        return self.name.full

    @property
    def alias_names(self) -> list[str]:
        """The full names of the aliases; one without a namespace begins with a dot where the type has one."""
        outside = "." if self.name.namespace else ""
        return [alias.full if alias.namespace else outside + alias.simple for alias in self.aliases]


@dataclass(slots=True, eq=False)
class AvroField:
    """A field of a record."""

    name: str
    type: AvroType
    doc: str | None = None
    default: Any = MISSING
    order: str = "ascending"
    aliases: Sequence[str] = ()
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AvroRecord(AvroNamed):
    """A record, or the error of a protocol."""

    fields: Sequence[AvroField] = ()
    is_error: bool = False


@dataclass(slots=True, eq=False)
class AvroEnum(AvroNamed):
    """An enum; its default stands for a symbol that a reader does not have."""

    symbols: Sequence[str] = ()
    default: str | None = None


@dataclass(slots=True, eq=False)
class AvroFixed(AvroNamed):
    """A number of bytes."""

    size: int = field(kw_only=True)


@dataclass(slots=True, eq=False)
class AvroReference(AvroType):
    """A type that is named before, or inside, its definition."""

    name: str = field(kw_only=True)
    target: AvroType | None = None

    @property
    def resolved(self) -> AvroType:
        """The type of that name."""
        assert self.target is not None, "the parser resolves every reference, or refuses the schema"
        return self.target

    @property
    def branch_name(self) -> str:
        """The full name that is referred to."""
        return self.name
