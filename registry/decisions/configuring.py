"""Changes of configurations and modes, of a subject, a context or, as None, all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.registry.decisions.errors import not_permitted, reference_exists, subject_not_found
from barnabas.registry.decisions.registering import check_writable
from barnabas.registry.state.qualified_subject import covers, is_context
from barnabas.registry.state.records import ClearSubjectRecord, ConfigRecord, ModeRecord, RegistryRecord, SchemaRecord
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.settings import IMPORT, SubjectConfig, updated_config


def update_config(
    state: RegistryState, name: str | None, changes: Mapping[str, Any]
) -> tuple[SubjectConfig, Sequence[RegistryRecord]]:
    """Return the configuration with these fields changed, and its record. Raises RegistryError."""
    check_writable(state, name)
    config = updated_config(state.own_config(name), changes)
    return config, [ConfigRecord(name, config)]


def delete_config(state: RegistryState, name: str | None) -> tuple[SubjectConfig, Sequence[RegistryRecord]]:
    """Return the configuration that was, and the record that removes it. Raises RegistryError."""
    config = state.config(name)
    if config is None:
        raise subject_not_found(name)
    check_writable(state, name)
    return config, [ConfigRecord(name, None)]


def set_mode(state: RegistryState, name: str | None, mode: str | None, *, force: bool) -> Sequence[RegistryRecord]:
    """Return the records of a new mode; None removes it. Raises RegistryError.

    Import may only begin where there are no subjects, unless it is forced; then deleted ones go for good.
    """
    records: list[RegistryRecord] = []
    if mode == IMPORT and state.mode_in_scope(name) != IMPORT and not force:
        if state.has_subjects(name, deleted=False):
            raise not_permitted("Cannot import since found existing subjects")
        for schema in [each for each in state.every_version() if covers(name, each.subject)]:
            if state.referrers((schema.subject, schema.version), deleted=True):
                raise reference_exists(schema.subject, schema.version)
            records.append(SchemaRecord(schema.subject, schema.version, None))
        records.append(ClearSubjectRecord(name))
    return [*records, ModeRecord(name, mode)]


def delete_mode(
    state: RegistryState, name: str | None, *, recursive: bool
) -> tuple[str | None, Sequence[RegistryRecord]]:
    """Return the mode that was, and the records that remove it. Raises RegistryError.

    recursive: also those of all subjects of a context.
    """
    mode = state.mode(name)
    if mode is None and not recursive:
        raise subject_not_found(name)
    names: list[str | None] = [name]
    if recursive and is_context(name):
        names += [each for each in state.subjects_with_mode(name or "") if covers(name, each)]
    return mode, [ModeRecord(each, None) for each in names]
