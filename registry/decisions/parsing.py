# compiled: mypyc
"""Schemas as they are parsed: what a request asks for, its canonical content, and parsed texts that are kept.

Parsing is a pure function of texts, so it may run in a thread: `SchemaSource` holds all that it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple, Protocol, TypeAlias

from barnabas.registry.decisions.errors import RegistryError, invalid_schema
from barnabas.registry.decisions.references import referenced, with_versions
from barnabas.registry.schemas.parsed_schema import InvalidSchema, ParsedSchema, ReferencedSchema, flattened
from barnabas.registry.state.metadata import Metadata
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.rule_sets import RuleSet
from barnabas.registry.state.stored_schema import SCHEMA_TYPES, SchemaContent, SchemaReference, StoredSchema

KEPT_MAX = 1_000
KEPT_CHARACTERS_MAX = 512 << 10
"""Of the texts of parsed schemas that are kept; what is made of them is larger."""


SourceKey: TypeAlias = tuple[str, str, tuple[SchemaReference, ...], str]


class SchemaParser(Protocol):
    """The parser of all schema types."""

    def __call__(
        self, schema_type: str, text: str, references: Sequence[ReferencedSchema] = (), *, is_new: bool = True
    ) -> ParsedSchema:
        """Parse a text, with the schemas that it refers to. Raises InvalidSchema."""


class SchemaWish(NamedTuple):
    """A schema in a request. version: 0 without one, -1 for the latest. schema_id: -1 without one."""

    schema_type: str
    text: str | None
    references: tuple[SchemaReference, ...] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    version: int = 0
    schema_id: int = -1

    @property
    def is_empty(self) -> bool:
        """Whether there is no text."""
        return not (self.text or "").strip()


class SchemaSource(NamedTuple):
    """A text with all that parsing it needs. is_new: a client registers it, so it is held to every rule."""

    schema_type: str
    text: str
    references: tuple[SchemaReference, ...]
    referenced: tuple[ReferencedSchema, ...]
    subject: str
    is_new: bool

    @property
    def key(self) -> SourceKey:
        """The key of the parsed schema. Subjects matter only to references."""
        return self.schema_type, self.text, self.references, self.subject if self.references else ""

    @property
    def characters(self) -> int:
        """The length of all texts, of references of references, too."""
        return len(self.text) + sum(len(each.text) for each in flattened(self.referenced).values())


class SchemaCandidate(NamedTuple):
    """A schema of a request that was parsed: its canonical content, and the fingerprint of that."""

    content: SchemaContent
    parsed: ParsedSchema
    fingerprint: bytes


class KeptSchema(NamedTuple):
    """A parsed schema. is_new: it was held to every rule, and is the same schema for those that are held to fewer."""

    parsed: ParsedSchema
    is_new: bool


class ParsedSchemas:
    """Parsed schemas, kept by text and references; those used last stay. May be used by several threads."""

    def __init__(self, parse: SchemaParser) -> None:
        self._parse = parse
        self._kept: dict[SourceKey, KeptSchema] = {}
        self._characters = 0
        self._removals = 0
        self._lock = Lock()

    def follow(self, state: RegistryState) -> None:
        """Forget everything if texts that others refer to may have been replaced."""
        if state.removals != self._removals:
            with self._lock:
                self._removals, self._characters = state.removals, 0
                self._kept.clear()

    def kept(self, source: SchemaSource) -> ParsedSchema | None:
        """Return the parsed schema if it is kept."""
        key = source.key
        with self._lock:
            found = self._kept.get(key)
            if found is None or (source.is_new and not found.is_new):
                return None
            del self._kept[key]
            self._kept[key] = found
        return found.parsed

    def parsed(self, source: SchemaSource) -> ParsedSchema:
        """Return the parsed schema. Raises RegistryError 42201."""
        found = self.kept(source)
        if found is not None:
            return found
        made = self._made(source)
        self._keep(source, made)
        return made.parsed

    def _made(self, source: SchemaSource) -> KeptSchema:
        """Parse, by every rule if the text allows it: a registration asks without them first, and then with them."""
        try:
            return KeptSchema(self._parsed(source, is_new=True), is_new=True)
        except RegistryError:
            if source.is_new:
                raise
            return KeptSchema(self._parsed(source, is_new=False), is_new=False)

    def _parsed(self, source: SchemaSource, *, is_new: bool) -> ParsedSchema:
        try:
            return self._parse(source.schema_type, source.text, source.referenced, is_new=is_new)
        except InvalidSchema as why:
            raise invalid_schema(f"Invalid schema of type {source.schema_type}, details: {why}") from why
        except RecursionError:
            deep = f"Invalid schema of type {source.schema_type}, details: it is nested too deep"
            raise invalid_schema(deep) from None

    def _keep(self, source: SchemaSource, made: KeptSchema) -> None:
        key = source.key
        with self._lock:
            if key not in self._kept:
                self._characters += len(source.text)
            self._kept[key] = made
            while len(self._kept) > 1 and (len(self._kept) > KEPT_MAX or self._characters > KEPT_CHARACTERS_MAX):
                oldest = next(iter(self._kept))
                del self._kept[oldest]
                self._characters -= len(oldest[1])


def source_of_wish(state: RegistryState, subject: str, wish: SchemaWish, *, is_new: bool) -> SchemaSource:
    """Return what parsing a request's schema needs. is_new: what it refers to is not deleted. Raises RegistryError."""
    if wish.schema_type not in SCHEMA_TYPES:
        raise invalid_schema(f"Invalid schema type {wish.schema_type}")
    assert wish.text is not None
    try:
        versions = with_versions(state, subject, wish.references)
        texts = referenced(state, subject, versions, deleted=not is_new)
    except RegistryError as why:
        raise invalid_schema(f"Invalid schema of type {wish.schema_type}, details: {why.message}") from why
    return SchemaSource(wish.schema_type, wish.text, versions, texts, subject, is_new)


def source_of_stored(state: RegistryState, schema: StoredSchema) -> SchemaSource:
    """Return what parsing a stored version needs. Raises RegistryError."""
    content = schema.content
    texts = referenced(state, schema.subject, content.references, deleted=True)
    return SchemaSource(content.schema_type, content.text, content.references, texts, schema.subject, is_new=False)


def candidate_of(wish: SchemaWish, source: SchemaSource, parsed: ParsedSchema, *, normalizes: bool) -> SchemaCandidate:
    """Return the canonical content of a request's schema. Raises RegistryError."""
    try:
        text = parsed.normalized_text if normalizes else parsed.canonical_text
    except InvalidSchema as why:
        raise invalid_schema(f"Invalid schema of type {source.schema_type}, details: {why}") from why
    content = SchemaContent(source.schema_type, source.references, wish.metadata, wish.rule_set, text)
    return SchemaCandidate(content, parsed, content.fingerprint)
