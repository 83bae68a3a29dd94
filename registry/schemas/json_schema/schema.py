"""JSON Schema's answers to what the registry asks of a schema."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from barnabas.registry.schemas.json_schema import compatibility
from barnabas.registry.schemas.json_schema.documents import Documents
from barnabas.registry.schemas.json_schema.loader import load
from barnabas.registry.schemas.json_schema.model import JsonObjectShape
from barnabas.registry.schemas.json_text import printed, read, with_sorted_keys
from barnabas.registry.schemas.parsed_schema import (
    Incompatibility,
    InvalidSchema,
    ParsedSchema,
    ReferencedSchema,
    TooLargeToCompare,
    flattened,
    not_compared,
)

_RESERVED = "$$"  # no property of a new schema begins so


class JsonSchema:
    """A valid JSON schema, whose text keeps the order of keys and the digits of numbers."""

    def __init__(self, text: str, references: Sequence[ReferencedSchema], *, is_new: bool) -> None:
        self._root = read(text, exact=True)
        if not isinstance(self._root, dict | bool):
            raise InvalidSchema("A JSON schema is an object or a boolean.")
        referenced = {name: read(each.text, exact=True) for name, each in flattened(references).items()}
        self._shape = load(Documents(self._root, referenced))
        if is_new and isinstance(self._shape, JsonObjectShape):
            _refuse_reserved(self._shape)

    @cached_property
    def canonical_text(self) -> str:
        """The JSON without white space."""
        return printed(self._root)

    @cached_property
    def normalized_text(self) -> str:
        """The same with the keys of objects sorted."""
        return printed(with_sorted_keys(self._root))

    def formatted_text(self, format_name: str) -> str:
        """Return the canonical text: there are no other formats."""
        return self.canonical_text

    def described(self) -> Any:
        """Return the JSON value, with numbers as JSON has them."""
        return read(self.canonical_text)

    def has_top_level_field(self, name: str) -> bool:
        """Return whether its `properties` have this one."""
        properties = self._root.get("properties") if isinstance(self._root, dict) else None
        return isinstance(properties, dict) and name in properties

    def incompatibilities(self, writer: ParsedSchema, *, lenient: bool = False) -> Sequence[Incompatibility]:
        """Return the changes since a writer's schema that Confluent's rules refuse."""
        assert isinstance(writer, JsonSchema), "schemas of different languages are not compared"
        try:
            return compatibility.incompatibilities(writer._shape, self._shape, lenient=lenient)
        except TooLargeToCompare as error:
            return [not_compared(error)]


def _refuse_reserved(shape: JsonObjectShape) -> None:
    for name in shape.properties:
        if name.startswith(_RESERVED):
            raise InvalidSchema(f'The property "{name[:80]}" begins with {_RESERVED}, which is reserved.')
