"""What the registry asks of a schema, whatever its language.

A schema is parsed once, with the texts that it refers to. Everything else is a question to the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol


class InvalidSchema(Exception):
    """A text that is no valid schema, or whose references do not fit. The message is one sentence for the client."""


class TooLargeToCompare(Exception):
    """Two schemas whose parts meet in more pairs than are compared. The message says what is too many."""


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
    description, message: a sentence, and Confluent's line of a `verbose` answer. In both the first "%s" stands for the
    reader ("new" or "old") and the second for the writer; `described` and `line` replace them.
    """

    kind: str
    path: str
    description: str
    message: str

    def described(self, reader: str, writer: str) -> str:
        """Return the description, with what the two schemas are called."""
        return _filled(self.description, reader, writer)

    def line(self, reader: str, writer: str) -> str:
        """Return Confluent's line for the messages of a compatibility check."""
        return _filled(self.message, reader, writer)


class ParsedSchema(Protocol):
    """A valid schema, with its references resolved."""

    @property
    def canonical_text(self) -> str:
        """The text that is stored, compared and returned (Confluent's canonicalString)."""

    @property
    def normalized_text(self) -> str:
        """The canonical text of the normalized schema (`normalize=true`)."""

    def formatted_text(self, format_name: str) -> str:
        """Return the text in a format of the REST API (`format=resolved`); the canonical text for an unknown one."""

    def described(self) -> Any:
        """Return the schema as plain values for a page that shows it."""

    def has_top_level_field(self, name: str) -> bool:
        """Return whether the record, the object or one of the file's messages has a field of this name."""

    def incompatibilities(self, writer: ParsedSchema, *, lenient: bool = False) -> Sequence[Incompatibility]:
        """Return why this schema, as the reader's, cannot read data of a writer's schema; empty if it can.

        lenient: whether the subject has the compatibility policy LENIENT, which counts for JSON Schema.
        """


def not_compared(reason: object) -> Incompatibility:
    """Return the one reason of two schemas that could not be compared: they count as incompatible."""
    message = f"Unexpected exception during compatibility check: {reason}"
    return Incompatibility("", "", message, message)


def flattened(references: Sequence[ReferencedSchema]) -> dict[str, ReferencedSchema]:
    """Return all that references lead to by name, each after what it refers to itself; the first of a name counts."""
    found: dict[str, ReferencedSchema] = {}
    seen: set[str] = set()
    walks: list[tuple[ReferencedSchema | None, Iterator[ReferencedSchema]]] = [(None, iter(references))]
    while walks:
        owner, rest = walks[-1]
        following = next((each for each in rest if each.name not in seen), None)
        if following is not None:
            seen.add(following.name)
            walks.append((following, iter(following.references)))
            continue
        walks.pop()
        if owner is not None:
            found[owner.name] = owner
    return found


def _filled(text: str, reader: str, writer: str) -> str:
    return text.replace("%s", reader, 1).replace("%s", writer, 1)
