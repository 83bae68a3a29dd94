"""The schemas of a record's key and value, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.broker.insight.why.rules.formatting import named


class SchemaFacts(NamedTuple):
    """The schema of a key or value. part: which. name: the id or guid in the record.

    subject: None if the registry does not have it, or cannot be read: then `trouble` says why.
    """

    part: str
    name: str
    subject: str | None = None
    version: int | None = None
    schema_id: int | None = None
    schema_type: str | None = None
    is_deleted: bool = False
    trouble: str | None = None


def schema_sentences(schemas: Sequence[SchemaFacts]) -> list[str]:
    """Return a sentence for each."""
    return [_sentence(each) for each in schemas]


def _sentence(schema: SchemaFacts) -> str:
    begins = f"Its {schema.part} begins like one with schema {schema.name}"
    if schema.trouble is not None:
        return f"{begins}; the registry cannot be read: {schema.trouble.removesuffix('.')}."
    if schema.subject is None:
        return f"{begins}, which is not in the registry."
    deleted = ", which is marked as deleted" if schema.is_deleted else ""
    which = f"version {schema.version} of subject {named(schema.subject)} (id {schema.schema_id}, {schema.schema_type})"
    return f"The schema of its {schema.part} is {which}{deleted}."
