"""What a JSON schema says, by the kind of values that it says it of.

A schema with keywords for several kinds (`type` and `enum`, or `properties` beside `oneOf`) is a JsonCombined of all of
them. A JsonShape is known by identity: a schema that refers to itself is a circle of shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Number = Any  # int or Decimal


@dataclass(slots=True, eq=False)
class JsonShape:
    """A schema of a kind that has no keywords of its own (true, false, null, boolean, empty), and what all have."""

    kind: str
    node: Any = None
    has_default: bool = False
    connect_type: Any = None

    @property
    def target(self) -> JsonShape:
        """The shape itself."""
        return self

    @property
    def accepts_all(self) -> bool:
        """Whether every value is valid."""
        return self.kind in ("empty", "true")


@dataclass(slots=True, eq=False)
class JsonReference(JsonShape):
    """A $ref, whose shape is set once it is loaded."""

    referred: JsonShape | None = None

    @property
    def target(self) -> JsonShape:
        """The shape that a chain of references leads to; a chain that has no end says nothing."""
        shape: JsonShape = self
        seen = set()
        while isinstance(shape, JsonReference):
            if id(shape) in seen:
                return JsonShape("empty")
            seen.add(id(shape))
            assert shape.referred is not None, "the loader resolves every reference, or refuses the schema"
            shape = shape.referred
        return shape


@dataclass(slots=True, eq=False)
class JsonStringShape(JsonShape):
    """Of strings."""

    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None


@dataclass(slots=True, eq=False)
class JsonNumberShape(JsonShape):
    """Of numbers."""

    minimum: Number = None
    maximum: Number = None
    exclusive_minimum: Number = None
    exclusive_maximum: Number = None
    multiple_of: Number = None
    requires_integer: bool = False


@dataclass(slots=True, eq=False)
class JsonObjectShape(JsonShape):
    """Of objects. additional: whether other properties are allowed; None of additional_schema: they may be anything."""

    properties: Mapping[str, JsonShape] = field(default_factory=dict)
    pattern_properties: Mapping[str, JsonShape] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    additional: bool = True
    additional_schema: JsonShape | None = None
    unevaluated: JsonShape | None = None
    dependent_required: Mapping[str, frozenset[str]] = field(default_factory=dict)
    dependent_schemas: Mapping[str, JsonShape] = field(default_factory=dict)
    min_properties: int | None = None
    max_properties: int | None = None


@dataclass(slots=True, eq=False)
class JsonArrayShape(JsonShape):
    """Of arrays. items: one schema for all; tuple_items: one for each of the first."""

    items: JsonShape | None = None
    tuple_items: Sequence[JsonShape] = ()
    additional: bool = True
    additional_schema: JsonShape | None = None
    unevaluated: JsonShape | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_contains: int | None = None
    max_contains: int | None = None
    unique: bool = False


@dataclass(slots=True, eq=False)
class JsonEnumShape(JsonShape):
    """Of an enum's values, or of one const; each as its text, since 1 is not 1.0 in a registry."""

    values: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class JsonNotShape(JsonShape):
    """Of what another schema refuses."""

    inner: JsonShape = field(kw_only=True)


@dataclass(slots=True, eq=False)
class JsonCombined(JsonShape):
    """Of several schemas at once: allOf, anyOf or oneOf."""

    criterion: str = "allOf"
    schemas: Sequence[JsonShape] = ()


class Draft(NamedTuple):
    """A draft of JSON Schema by its number: 4, 6, 7, 2019 or 2020."""

    number: int

    @property
    def id_keyword(self) -> str:
        """The keyword of a schema's URI."""
        return "id" if self.number == 4 else "$id"

    @property
    def is_modern(self) -> bool:
        """Whether keywords beside a $ref count, and there are $defs, dependentSchemas and unevaluatedProperties."""
        return self.number >= 2019
