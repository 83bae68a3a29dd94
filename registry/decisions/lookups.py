# compiled: mypyc
"""Finding a version of a subject by content: by its fingerprint, or as a version that is equal but for details."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.registry.decisions.compatibility import ParsedOf
from barnabas.registry.decisions.errors import RegistryError
from barnabas.registry.decisions.parsing import SchemaCandidate
from barnabas.registry.state.metadata import CONFLUENT_VERSION, Metadata, property_of, without_confluent_version
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.stored_schema import StoredSchema


def version_with_fingerprint(
    state: RegistryState, subject: str, candidate: SchemaCandidate, *, deleted: bool
) -> StoredSchema | None:
    """Return the subject's version with exactly this content. deleted: it may be marked as deleted."""
    schema_id = state.index(subject).id_of(candidate.fingerprint)
    found = None if schema_id is None else state.schema_of_id(schema_id, subject)
    return found if found is not None and (deleted or not found.is_deleted) else None


def equal_version(
    candidate: SchemaCandidate, versions: Sequence[StoredSchema], parsed_of: ParsedOf
) -> StoredSchema | None:
    """Return the last version that is equal, also if its text was written in another way, or if only one of the two
    has its version in its metadata. versions: in their order.
    """
    for version in reversed(versions):
        if _is_alike(candidate, version) and _has_same_text(candidate, version, parsed_of):
            return version
    return None


def _is_alike(candidate: SchemaCandidate, version: StoredSchema) -> bool:
    own, other = candidate.content, version.content
    if (own.schema_type, own.rule_set) != (other.schema_type, other.rule_set):
        return False
    if own.references != other.references and own.references:
        return False
    return _is_same_metadata(own.metadata, other.metadata, version.version)


def _is_same_metadata(own: Metadata | None, other: Metadata | None, version: int) -> bool:
    own_version, other_version = property_of(own, CONFLUENT_VERSION), property_of(other, CONFLUENT_VERSION)
    if (own_version is None) == (other_version is None):
        return own == other
    if own_version is not None and own_version != str(version):
        return False
    return without_confluent_version(own) == without_confluent_version(other)


def _has_same_text(candidate: SchemaCandidate, version: StoredSchema, parsed_of: ParsedOf) -> bool:
    if candidate.content.text == version.content.text:
        return True
    try:
        return parsed_of(version).canonical_text == candidate.content.text
    except RegistryError:
        return False  # of another producer, and no schema for us
