"""Avro's answers to what the registry asks of a schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from barnabas.registry.schemas.avro import compatibility, normalizing, writer
from barnabas.registry.schemas.avro.model import AvroNamed, AvroRecord, AvroType
from barnabas.registry.schemas.avro.parser import AvroParser
from barnabas.registry.schemas.parsed_schema import Incompatibility, ParsedSchema, ReferencedSchema, flattened


class AvroSchema:
    """A valid Avro schema. What it refers to is written by name, and written out in the format `resolved`."""

    def __init__(self, text: str, references: Sequence[ReferencedSchema], *, is_new: bool) -> None:
        self._text = text
        self._referenced = [reference.text for reference in flattened(references).values()]
        self._is_new = is_new
        self.type, self._known = self._parsed()

    @cached_property
    def canonical_text(self) -> str:
        """The text of Java's Schema.toString."""
        return writer.canonical(self.type, self._known)

    @cached_property
    def normalized_text(self) -> str:
        """The same of the schema in Confluent's normalized form."""
        type_, known = self._parsed()
        normalizing.normalize(type_)
        return writer.canonical(type_, known)

    def formatted_text(self, format_name: str) -> str:
        """Return the text with all that it refers to for `resolved`."""
        return writer.canonical(self.type, ()) if format_name == "resolved" else self.canonical_text

    def described(self) -> Any:
        """Return the JSON value of the canonical text."""
        return json.loads(self.canonical_text)

    def has_top_level_field(self, name: str) -> bool:
        """Return whether it is a record with this field."""
        return isinstance(self.type, AvroRecord) and any(each.name == name for each in self.type.fields)

    def incompatibilities(self, writer: ParsedSchema, *, lenient: bool = False) -> Sequence[Incompatibility]:
        """Return Java's incompatibilities of this schema with a writer's."""
        assert isinstance(writer, AvroSchema), "schemas of different languages are not compared"
        return compatibility.incompatibilities(self.type, writer.type)

    def _parsed(self) -> tuple[AvroType, list[str]]:
        parser = AvroParser(is_new=self._is_new)
        referenced = [parser.parse(text) for text in self._referenced]
        type_ = parser.parse(self._text)
        return type_, [each.name.full for each in referenced if isinstance(each, AvroNamed)]
