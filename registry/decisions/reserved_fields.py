"""The check of `validateFields`: reserved names stay reserved, and no field has one. The words are Confluent's.

A schema reserves names in its metadata, in the property `confluent:reserved`, separated by commas.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.registry.decisions.parsing import SchemaCandidate
from barnabas.registry.state.metadata import reserved_fields
from barnabas.registry.state.stored_schema import StoredSchema

_REMOVED = (
    "The new schema has reserved field {} removed from its metadata which is present in the old schema's metadata."
)
_CONFLICTS = "The new schema has field that conflicts with the reserved field {}."


def reserved_messages(candidate: SchemaCandidate, versions: Sequence[StoredSchema]) -> list[str]:
    """Return what is wrong with a new schema after these versions, given in their order."""
    reserved = reserved_fields(candidate.content.metadata)
    before = reserved_fields(versions[-1].content.metadata) if versions else frozenset()
    taken = [name for name in sorted(reserved) if candidate.parsed.has_top_level_field(name)]
    return [*map(_REMOVED.format, sorted(before - reserved)), *map(_CONFLICTS.format, taken)]
