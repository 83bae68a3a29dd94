# compiled: mypyc
"""The registry's state: what its records say. Only `apply` changes it, when a record was written and at the start.

Invariants: versions of a subject are found by number; a schema whose id stands for another text in its context is not
added, as in Confluent's registry; `revision` grows with every change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from barnabas.registry.state.context_index import ContextId, ContextIndex, VersionKey
from barnabas.registry.state.qualified_subject import (
    DEFAULT_CONTEXT,
    GLOBAL,
    GLOBAL_CONTEXT,
    QualifiedSubject,
    covers,
    is_global_context,
    qualified,
    qualified_within,
)
from barnabas.registry.state.records import (
    ClearSubjectRecord,
    ConfigRecord,
    ContextRecord,
    DeleteSubjectRecord,
    ModeRecord,
    RegistryRecord,
    SchemaRecord,
)
from barnabas.registry.state.settings import DEFAULT_CONFIG, DEFAULT_MODE, LEVEL, SubjectConfig, config_below
from barnabas.registry.state.stored_schema import StoredSchema

V = TypeVar("V")
LATEST = -1
"""Stands for the number of the latest version."""


class RegistryState:
    """Subjects with their versions, contexts, configurations and modes."""

    def __init__(self) -> None:
        self.revision = 0
        """The number of changes."""
        self.removals = 0
        """The number of changes that took away or replaced a text which others may refer to."""
        self._subjects: dict[str, dict[int, StoredSchema]] = {}
        self._undeleted: dict[str, int] = {}  # how many versions of a subject are not marked, if any
        self._indexes: dict[str, ContextIndex] = {}
        self._contexts: set[str] = set()
        self._configs: dict[str | None, SubjectConfig] = {}
        self._modes: dict[str | None, str] = {}
        self._aliases: set[str | None] = set()

    # --- changes ---

    def apply(self, record: RegistryRecord) -> bool:
        """Change the state as a record says. Return whether it was valid: if not, nothing has changed."""
        self.revision += 1
        if isinstance(record, SchemaRecord):
            return self._apply_schema(record)
        if isinstance(record, DeleteSubjectRecord):
            self._mark(record.subject, record.version)
        elif isinstance(record, ClearSubjectRecord):
            for schema in [
                each for each in self.every_version() if each.is_deleted and covers(record.subject, each.subject)
            ]:
                self._remove(schema)
        elif isinstance(record, ConfigRecord):
            _set(self._configs, record.subject, record.config)
            has_alias = record.config is not None and "alias" in record.config
            (self._aliases.add if has_alias else self._aliases.discard)(record.subject)
        elif isinstance(record, ModeRecord):
            _set(self._modes, record.subject, record.mode)
        elif isinstance(record, ContextRecord):
            (self._contexts.add if record.is_present else self._contexts.discard)(record.context)
        return True

    def _apply_schema(self, record: SchemaRecord) -> bool:
        older = self.version(record.subject, record.version)
        if record.schema is None:
            if older is not None:
                self._remove(older)
            return True
        index = self.index(record.subject)
        subject, version = next(iter(index.versions_of(record.schema.schema_id).items()), (None, 0))
        same_id = None if subject is None else self.version(subject, version)
        if same_id is not None and same_id.content.text != record.schema.content.text:
            return False
        if older is not None and older.content != record.schema.content:
            self._remove(older)
        self._put(record.schema)
        return True

    def _put(self, schema: StoredSchema) -> None:
        versions = self._subjects.setdefault(schema.subject, {})
        older = versions.get(schema.version)
        versions[schema.version] = schema
        self._count(schema.subject, int(older is not None and not older.is_deleted), int(not schema.is_deleted))
        index = self.index(schema.subject)
        index.subjects.add(schema.subject)
        index.add(schema)
        for key in _referred(schema):
            self.index(key[0]).refer(key, (qualified(schema.subject).context, schema.schema_id))

    def _mark(self, subject: str, last: int) -> None:
        """Mark the versions of a subject up to one as deleted: thousands of them at once, so only what changes."""
        marked = [each for each in self.versions(subject) if each.version <= last and not each.is_deleted]
        index = self.index(subject)
        for schema in marked:
            index.add(schema)
            self._subjects[subject][schema.version] = schema.marked
        self._count(subject, len(marked), 0)

    def _remove(self, schema: StoredSchema) -> None:
        self.removals += 1
        versions = self._subjects[schema.subject]
        del versions[schema.version]
        self._count(schema.subject, int(not schema.is_deleted), 0)
        if not versions:
            del self._subjects[schema.subject]
            self.index(schema.subject).subjects.discard(schema.subject)
        index = self.index(schema.subject)
        index.remove(schema)
        if not index.versions_of(schema.schema_id):
            for key in _referred(schema):
                self.index(key[0]).no_longer_refer(key, (qualified(schema.subject).context, schema.schema_id))

    def _count(self, subject: str, before: int, now: int) -> None:
        count = self._undeleted.get(subject, 0) + now - before
        if count:
            self._undeleted[subject] = count
        else:
            self._undeleted.pop(subject, None)

    # --- versions ---

    def version(self, subject: str, version: int) -> StoredSchema | None:
        """Return a version of a subject, also one that is marked as deleted."""
        return self._subjects.get(subject, {}).get(version)

    def version_or_latest(self, subject: str, version: int) -> StoredSchema | None:
        """Return a version as requests name it: LATEST is the last one that is not marked as deleted."""
        return self.latest(subject) if version == LATEST else self.version(subject, version)

    def versions(self, subject: str) -> list[StoredSchema]:
        """Return all versions of a subject in their order, also those that are marked as deleted."""
        return [schema for _, schema in sorted(self._subjects.get(subject, {}).items())]

    def latest(self, subject: str) -> StoredSchema | None:
        """Return the last version that is not marked as deleted."""
        return next((each for each in reversed(self.versions(subject)) if not each.is_deleted), None)

    def every_version(self) -> Iterator[StoredSchema]:
        """Yield all versions of all subjects."""
        for versions in self._subjects.values():
            yield from versions.values()

    def subjects(self) -> Iterator[tuple[str, bool]]:
        """Yield each subject with whether all of its versions are marked as deleted."""
        for subject in self._subjects:
            yield subject, subject not in self._undeleted

    @property
    def subjects_count(self) -> int:
        """The number of subjects, also of deleted ones."""
        return len(self._subjects)

    def has_subjects(self, name: str | None, *, deleted: bool) -> bool:
        """Return whether the subject, or a subject of the context, exists. deleted: also one that is deleted."""
        if name is not None and qualified(name).subject:
            subjects: Iterable[str] = [name]
        else:
            subjects = self._subjects if name is None or is_global_context(name) else self.index(name).subjects
        if deleted:
            return any(subject in self._subjects for subject in subjects)
        return any(subject in self._undeleted for subject in subjects)

    # --- contexts and ids ---

    def index(self, name: str | None) -> ContextIndex:
        """Return the index of the context of a name."""
        context = DEFAULT_CONTEXT if name is None else qualified(name).context
        found = self._indexes.get(context)
        if found is None:
            found = self._indexes[context] = ContextIndex()
        return found

    def contexts(self) -> list[str]:
        """Return the default context and those with a name, sorted."""
        return [DEFAULT_CONTEXT, *self.named_contexts()]

    def named_contexts(self) -> list[str]:
        """Return the contexts with a name, sorted."""
        return sorted(self._contexts)

    def same_named(self, subject: str) -> Iterator[str]:
        """Yield the subject and, if its context is the default one, those of its name in the other contexts."""
        yield subject
        context, name = qualified(subject)
        if context == DEFAULT_CONTEXT:
            yield from (QualifiedSubject(other, name).name for other in self.named_contexts())

    def has_context(self, context: str) -> bool:
        """Return whether the context with this name exists."""
        return context in self._contexts

    def schema_of_id(self, schema_id: int, name: str | None) -> StoredSchema | None:
        """Return a version with this id: of the subject, or of any in the context."""
        versions = self.index(name).versions_of(schema_id)
        if name is not None and qualified(name).subject:
            return self.version(name, versions[name]) if name in versions else None
        subject = next(iter(versions), None)
        return None if subject is None else self.version(subject, versions[subject])

    def versions_of_id(self, schema_id: int, name: str | None) -> list[StoredSchema]:
        """Return the version of each subject of the context that has this id."""
        found = [self.version(*key) for key in self.index(name).versions_of(schema_id).items()]
        return [schema for schema in found if schema is not None]

    def referrers(self, key: VersionKey, *, deleted: bool) -> list[ContextId]:
        """Return the ids of the schemas that refer to a version, sorted. deleted: also of those that are deleted."""
        found = self.index(key[0]).referrers_of(key)
        return [each for each in sorted(found) if deleted or self._is_alive(each)] if found else []

    def _is_alive(self, context_id: ContextId) -> bool:
        context, schema_id = context_id
        versions = self.versions_of_id(schema_id, QualifiedSubject(context, "").name)
        return any(not schema.is_deleted for schema in versions)

    # --- settings ---

    def config(self, name: str | None) -> SubjectConfig | None:
        """Return the configuration of a subject or context itself; the global one always has one."""
        found = self._configs.get(name)
        if found is not None:
            return {**found, LEVEL: found.get(LEVEL, DEFAULT_CONFIG[LEVEL])}
        return DEFAULT_CONFIG if _is_top(name) else None

    def own_config(self, name: str | None) -> SubjectConfig | None:
        """Return the fields that are set for a subject or context itself; None without any."""
        return self._configs.get(name)

    def config_in_scope(self, name: str | None) -> SubjectConfig:
        """Return the configuration that counts for a subject: its own, its context's, or the global one."""
        if not self._configs:
            return DEFAULT_CONFIG
        own = self.config(name)
        if own is not None and name is not None:
            return config_below(self.config(None) or DEFAULT_CONFIG, own)
        for scope in _scopes(name):
            if scope in self._configs:
                found = self.config(scope)
                assert found is not None
                return found
        return DEFAULT_CONFIG

    def configs(self) -> Iterator[tuple[str | None, SubjectConfig]]:
        """Yield all configurations that are set, with their subject or context."""
        yield from self._configs.items()

    @property
    def has_aliases(self) -> bool:
        """Whether a name stands for another subject."""
        return bool(self._aliases)

    def mode(self, name: str | None) -> str | None:
        """Return the mode of a subject or context itself; the global one always has one."""
        return self._modes.get(name, DEFAULT_MODE if _is_top(name) else None)

    def mode_in_scope(self, name: str | None) -> str:
        """Return the mode that counts for a subject: its own, its context's, or the global one."""
        if not self._modes:
            return DEFAULT_MODE
        return next((self._modes[scope] for scope in _scopes(name) if scope in self._modes), DEFAULT_MODE)

    def subjects_with_mode(self, prefix: str) -> list[str]:
        """Return the subjects below a prefix that have a mode, sorted."""
        return sorted(name for name in self._modes if name is not None and name != prefix and name.startswith(prefix))


def _set(table: dict[str | None, V], name: str | None, value: V | None) -> None:
    if value is None:
        table.pop(name, None)
    else:
        table[name] = value


def _is_top(name: str | None) -> bool:
    return name is None or qualified(name).context == GLOBAL_CONTEXT


def _scopes(name: str | None) -> Iterator[str | None]:
    """Yield the places of a setting, the nearest first."""
    yield name
    prefix = "" if name is None else qualified(name).context_prefix
    yield prefix or None
    yield GLOBAL


def _referred(schema: StoredSchema) -> Iterator[VersionKey]:
    for reference in schema.content.references:
        yield qualified_within(schema.subject, reference.subject).name, reference.version
