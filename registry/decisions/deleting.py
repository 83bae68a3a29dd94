"""The deletion of versions, subjects and contexts: first they are marked, then they may be deleted for good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.registry.decisions.errors import (
    context_not_empty,
    reference_exists,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_found,
    version_not_soft_deleted,
    version_soft_deleted,
)
from barnabas.registry.decisions.registering import check_writable
from barnabas.registry.state.context_index import ContextId
from barnabas.registry.state.qualified_subject import QualifiedSubject, qualified
from barnabas.registry.state.records import (
    ConfigRecord,
    ContextRecord,
    DeleteSubjectRecord,
    ModeRecord,
    RegistryRecord,
    SchemaRecord,
)
from barnabas.registry.state.registry_state import RegistryState


class Deleted(NamedTuple):
    """A deletion: the versions that it concerns, and the records to be written."""

    versions: Sequence[int]
    records: Sequence[RegistryRecord]


def delete_version(state: RegistryState, subject: str, version: int, *, permanent: bool) -> Deleted:
    """Mark a version as deleted, or delete a marked one for good. Raises RegistryError."""
    found = state.version_or_latest(subject, version)
    if found is None:
        has_versions = state.has_subjects(subject, deleted=True)
        raise version_not_found(version) if has_versions else subject_not_found(subject)
    if found.is_deleted and not permanent:
        raise version_soft_deleted(subject, version)
    check_writable(state, subject)
    if state.referrers((subject, found.version), deleted=permanent):
        raise reference_exists(subject, found.version)
    if not permanent:
        return Deleted([found.version], [SchemaRecord(subject, found.version, found.marked)])
    if not found.is_deleted:
        raise version_not_soft_deleted(subject, found.version)
    is_last = len(state.versions(subject)) == 1
    settings = _settings(state, subject) if is_last else []
    return Deleted([found.version], [SchemaRecord(subject, found.version, None), *settings])


def delete_subject(state: RegistryState, subject: str, *, permanent: bool) -> Deleted:
    """Mark all versions as deleted, or delete marked ones for good. Raises RegistryError."""
    if not state.has_subjects(subject, deleted=True):
        raise subject_not_found(subject)
    if not permanent and not state.has_subjects(subject, deleted=False):
        raise subject_soft_deleted(subject)
    check_writable(state, subject)
    versions = [each for each in state.versions(subject) if permanent or not each.is_deleted]
    for each in versions:
        referrers = state.referrers((subject, each.version), deleted=permanent)
        if any(_is_of_another_subject(state, subject, referrer, deleted=permanent) for referrer in referrers):
            raise reference_exists(subject, each.version)
        if permanent and not each.is_deleted:
            raise subject_not_soft_deleted(subject)
    numbers = [each.version for each in versions]
    if not permanent:
        return Deleted(numbers, [DeleteSubjectRecord(subject, max(numbers, default=0))])
    removed = [SchemaRecord(subject, number, None) for number in reversed(numbers)]
    return Deleted(numbers, [*removed, *_settings(state, subject)])


def delete_context(state: RegistryState, name: str) -> Sequence[RegistryRecord]:
    """Delete a context without subjects. Raises RegistryError."""
    if state.has_subjects(name, deleted=True):
        raise context_not_empty(name)
    return [ContextRecord(qualified(name).context, is_present=False)]


def _settings(state: RegistryState, subject: str) -> list[RegistryRecord]:
    """Return the records that remove a subject's own settings with it."""
    found: list[RegistryRecord] = []
    if state.mode(subject) is not None:
        found.append(ModeRecord(subject, None))
    if state.config(subject) is not None:
        found.append(ConfigRecord(subject, None))
    return found


def _is_of_another_subject(state: RegistryState, subject: str, referrer: ContextId, *, deleted: bool) -> bool:
    context, schema_id = referrer
    versions = state.versions_of_id(schema_id, QualifiedSubject(context, "").name)
    return any(each.subject != subject and (deleted or not each.is_deleted) for each in versions)
