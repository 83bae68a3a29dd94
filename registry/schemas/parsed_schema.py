"""What the registry asks of a schema, whatever its language.

A schema is parsed once, with the texts that it refers to. Everything else is a question to the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class InvalidSchema(Exception):
    """A text that is no valid schema, or whose references do not fit. The message is one sentence for the client."""


class ReferencedSchema(NamedTuple):
    """A schema that others refer to by a name: an Avro full name, a JSON Schema $id, or the path of a .proto file."""

    name: str
    subject: str
    version: int
    text: str
    references: tuple[ReferencedSchema, ...] = ()


class Incompatibility(NamedTuple):
    """A reason why a reader's schema cannot read data of a writer's.

    kind: Confluent's name of it (READER_FIELD_MISSING_DEFAULT_VALUE, ...). path: where in the reader's schema.
    """

    kind: str
    path: str
    description: str


class ParsedSchema(Protocol):
    """A valid schema, with its references resolved."""

    @property
    def canonical_text(self) -> str:
        """The text that is stored, compared and returned (Confluent's canonicalString)."""

    @property
    def normalized_text(self) -> str:
        """The canonical text of the normalized schema (`normalize=true`)."""

    def described(self) -> Any:
        """Return the schema as plain values for a page that shows it."""

    def incompatibilities(self, writer: ParsedSchema) -> Sequence[Incompatibility]:
        """Return why this schema, as the reader's, cannot read data of a writer's schema; empty if it can."""
