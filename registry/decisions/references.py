"""The texts that a schema refers to, directly and through others: found in the state before it is parsed.

References of versions can form a circle only through records of another producer, or with given versions; the number
of texts and the depth are limited, so that parsing stays bounded.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.registry.decisions.errors import invalid_schema
from barnabas.registry.schemas.parsed_schema import ReferencedSchema
from barnabas.registry.state.context_index import VersionKey
from barnabas.registry.state.qualified_subject import qualified_within
from barnabas.registry.state.registry_state import LATEST, RegistryState
from barnabas.registry.state.stored_schema import SchemaReference, StoredSchema

REFERENCED_MAX = 1_000
DEPTH_MAX = 64


def with_versions(
    state: RegistryState, subject: str, references: Sequence[SchemaReference]
) -> tuple[SchemaReference, ...]:
    """Return the references with the number of the latest version for -1. Raises RegistryError if there is none."""
    return tuple(
        each._replace(version=_target(state, subject, each, deleted=True).version) if each.version == LATEST else each
        for each in references
    )


def referenced(
    state: RegistryState, subject: str, references: Sequence[SchemaReference], *, deleted: bool
) -> tuple[ReferencedSchema, ...]:
    """Return the schemas that a schema of this subject refers to. deleted: they may be marked as deleted.

    Raises RegistryError if one is missing, or if there are too many or a circle.
    """
    return _Search(state, deleted=deleted).found(subject, references, ())


class _Search:
    def __init__(self, state: RegistryState, *, deleted: bool) -> None:
        self._state = state
        self._deleted = deleted
        self._found: dict[VersionKey, tuple[ReferencedSchema, ...]] = {}

    def found(
        self, subject: str, references: Sequence[SchemaReference], path: tuple[VersionKey, ...]
    ) -> tuple[ReferencedSchema, ...]:
        return tuple(self._schema(subject, each, path) for each in references)

    def _schema(self, subject: str, reference: SchemaReference, path: tuple[VersionKey, ...]) -> ReferencedSchema:
        target = _target(self._state, subject, reference, deleted=self._deleted)
        key = target.subject, target.version
        if key in path:
            raise invalid_schema(f"{target.subject} version {target.version} refers to itself")
        if len(path) >= DEPTH_MAX or len(self._found) >= REFERENCED_MAX:
            raise invalid_schema("too many references")
        below = self._found.get(key)
        if below is None:
            below = self._found[key] = self.found(target.subject, target.content.references, (*path, key))
        return ReferencedSchema(reference.name, target.subject, target.version, target.content.text, below)


def _target(state: RegistryState, subject: str, reference: SchemaReference, *, deleted: bool) -> StoredSchema:
    name = qualified_within(subject, reference.subject).name
    found = state.version_or_latest(name, reference.version)
    if found is None or (found.is_deleted and not deleted):
        why = f'No schema reference found for subject "{name}" and version {reference.version}'
        raise invalid_schema(why)
    return found
