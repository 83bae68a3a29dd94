# compiled: mypyc
"""A version of a subject: a schema with all that belongs to it, and the fingerprint by which equal schemas are found.

The fingerprint is the MD5 of text, references, metadata and rule set; as a UUID it is the schema's guid. Both are
Confluent's, so a guid is the same in every registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import md5
from typing import NamedTuple
from uuid import UUID

from barnabas.registry.state.metadata import Metadata, metadata_words
from barnabas.registry.state.rule_sets import RuleSet, rule_set_words

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"
SCHEMA_TYPES = (JSON, PROTOBUF, AVRO)


class SchemaReference(NamedTuple):
    """A version of a subject that a schema refers to by a name. version: -1 in a request is the latest."""

    name: str
    subject: str
    version: int


class SchemaContent(NamedTuple):
    """The content of a schema: an equal one, of whatever subject, has the same id in a context."""

    schema_type: str
    references: tuple[SchemaReference, ...]
    metadata: Metadata | None
    rule_set: RuleSet | None
    text: str

    @property
    def fingerprint(self) -> bytes:
        """The MD5 of the content."""
        return fingerprint(self.text, self.references, self.metadata, self.rule_set)


class StoredSchema(NamedTuple):
    """A version of a subject. subject: its qualified name. timestamp_ms: of its record; None before it is written."""

    subject: str
    version: int
    schema_id: int
    content: SchemaContent
    fingerprint: bytes
    is_deleted: bool = False
    timestamp_ms: int | None = None

    @property
    def marked(self) -> StoredSchema:
        """The version as it is when it is marked as deleted."""
        return StoredSchema(
            self.subject, self.version, self.schema_id, self.content, self.fingerprint, True, self.timestamp_ms
        )

    @property
    def guid(self) -> str:
        """The globally unique id of the content."""
        return str(UUID(bytes=self.fingerprint))


def fingerprint(
    text: str, references: Sequence[SchemaReference], metadata: Metadata | None, rule_set: RuleSet | None
) -> bytes:
    """Return the MD5 of these parts of a schema."""
    digest = md5(text.encode(), usedforsecurity=False)
    for reference in references:
        digest.update(reference.name.encode() + reference.subject.encode())
        digest.update(reference.version.to_bytes(4, "big", signed=True))
    if metadata is not None:
        digest.update(b"\1" + "".join(metadata_words(metadata)).encode())
    if rule_set is not None:
        digest.update(b"\1" + "".join(rule_set_words(rule_set)).encode())
    return digest.digest()


def fingerprint_of_guid(guid: str) -> bytes | None:
    """Return the fingerprint that a guid stands for, as a UUID or in hexadecimal; None if it is none."""
    try:
        return UUID(guid).bytes
    except ValueError:
        return None
