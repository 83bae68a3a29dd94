"""The registry's subjects and versions as the pages show them. What takes long is done in slices or in a thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from barnabas.broker.http.console.formatting import CUT
from barnabas.broker.http.console.queries.schema_diff import TEXT_CHARACTERS_MAX, SchemaDiff, readable, side_by_side
from barnabas.broker.runtime.scheduler import Work
from barnabas.registry.decisions.compatibility import CHECKS_OF_LEVEL, DIFFERENT_TYPE
from barnabas.registry.decisions.errors import RegistryError
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.schemas.parsed_schema import Incompatibility
from barnabas.registry.state.qualified_subject import QualifiedSubject, qualified, qualified_within
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.settings import LEVEL
from barnabas.registry.state.stored_schema import SchemaContent, StoredSchema
from barnabas.storage.steps import Steps

T = TypeVar("T")
REASONS_MAX = 50
USERS_MAX = 100
"""How many versions that have an id, or that refer to a version, are listed; and how many references."""
_SETTING_CHARACTERS_MAX = 500
_IN_A_STEP = 100


class SubjectRow(NamedTuple):
    """A subject in the table of them. deleted_count: of its versions, those that are marked as deleted."""

    name: str
    latest: StoredSchema
    level: str
    has_own_level: bool
    versions_count: int
    deleted_count: int

    @property
    def is_deleted(self) -> bool:
        """Whether all of its versions are marked as deleted."""
        return self.versions_count == self.deleted_count


class Setting(NamedTuple):
    """A setting that counts for a subject. is_own: else it is inherited."""

    name: str
    value: str
    is_own: bool


class Reason(NamedTuple):
    """Why a version cannot be read. kind: as a refused registration names it; empty if they could not be compared."""

    kind: str
    sentence: str


class Direction(NamedTuple):
    """Whether one version reads what another one wrote. is_needed: by the subject's compatibility level."""

    reader: int
    writer: int
    is_needed: bool
    reasons: Sequence[Reason]
    reasons_left_out: int


class Comparison(NamedTuple):
    """Two versions side by side. trouble: why they cannot be compared."""

    level: str
    directions: Sequence[Direction]
    trouble: str | None
    diff: SchemaDiff

    @property
    def is_compatible(self) -> bool:
        """Whether the newer one is compatible with the older one by the level."""
        return self.trouble is None and not any(each.is_needed and each.reasons for each in self.directions)


def matching_names(state: RegistryState, needle: str, *, deleted: bool) -> Steps[list[str]]:
    """Return, in steps, the names of subjects that contain the needle, sorted. deleted: also of deleted subjects."""
    every = list(state.subjects())  # at once, since subjects come and go between the steps
    yield
    return sorted(name for name, is_deleted in every if needle in name and (deleted or not is_deleted))


def subject_rows(state: RegistryState, names: Sequence[str]) -> Steps[list[SubjectRow]]:
    """Return, in steps, the rows of subjects."""
    rows = []
    for number, name in enumerate(names):
        versions = state.versions(name)
        if versions:  # it may have been deleted meanwhile
            own = state.config(name)
            latest = state.latest(name) or versions[-1]
            level = state.config_in_scope(name)[LEVEL]
            deleted_count = sum(each.is_deleted for each in versions)
            rows.append(SubjectRow(name, latest, level, own is not None, len(versions), deleted_count))
        if number % _IN_A_STEP == _IN_A_STEP - 1:
            yield
    return rows


def settings(state: RegistryState, subject: str) -> list[Setting]:
    """Return the mode and the configuration that count for a subject."""
    own = state.own_config(subject) or {}
    config = state.config_in_scope(subject)
    mode = Setting("mode", state.mode_in_scope(subject), state.mode(subject) is not None)
    return [mode, *(Setting(_shown_name(name), _plain(value), name in own) for name, value in config.items())]


def global_settings(state: RegistryState) -> tuple[str, str]:
    """Return the compatibility level and the mode of subjects that have none of their own."""
    return state.config_in_scope(None)[LEVEL], state.mode_in_scope(None)


def references_of(state: RegistryState, schema: StoredSchema) -> list[tuple[str, str, int, bool]]:
    """Return what a version refers to, the first ones: name, subject, version, and whether that exists."""
    found = []
    for each in schema.content.references[:USERS_MAX]:
        subject = qualified_within(schema.subject, each.subject).name
        found.append((each.name, subject, each.version, state.version(subject, each.version) is not None))
    return found


def referrers_of(state: RegistryState, schema: StoredSchema) -> tuple[list[StoredSchema], int]:
    """Return the versions that refer to a version, the first ones, and how many ids there are beyond them."""
    ids = state.referrers((schema.subject, schema.version), deleted=True)
    found: list[StoredSchema] = []
    for context, schema_id in ids[:USERS_MAX]:
        found += state.versions_of_id(schema_id, QualifiedSubject(context, "").name)[:USERS_MAX]
    return found[:USERS_MAX], max(0, len(ids) - USERS_MAX)


def versions_with_id(state: RegistryState, schema_id: int, context: str) -> tuple[list[StoredSchema], int]:
    """Return the versions of a context that have an id, the first ones, and how many others there are."""
    name = QualifiedSubject(context, "").name
    if context not in state.contexts():
        return [], 0
    found = state.versions_of_id(schema_id, name)
    return sorted(found[:USERS_MAX], key=lambda each: each.subject), max(0, len(found) - USERS_MAX)


def in_thread(work: Callable[[], T]) -> Work[T]:
    """Return the result of work that is done in a thread."""
    found: list[T] = []
    yield lambda: found.append(work())
    return found[0]


def texts_of(schema: StoredSchema) -> Work[tuple[str, list[tuple[str, str]]]]:
    """Return the readable text of a version, and what is attached to it."""
    content = schema.content
    return (yield from in_thread(lambda: (readable(content.text, content.schema_type), _attached(content))))


def diff_of(older: StoredSchema, newer: StoredSchema) -> Work[SchemaDiff]:
    """Return two versions side by side."""
    texts = [(each.content.text, each.content.schema_type) for each in (older, newer)]
    return (yield from in_thread(lambda: side_by_side(*(readable(*each) for each in texts))))


async def comparison_of(
    registry: SchemaRegistry, one: StoredSchema, other: StoredSchema, diff: SchemaDiff
) -> Comparison:
    """Return how two versions compare: whether each reads what the other one wrote. The level is that of the later."""
    older, newer = sorted((one, other), key=lambda each: each.version)
    level = registry.state.config_in_scope(newer.subject)[LEVEL]
    if older.content.schema_type != newer.content.schema_type:
        return Comparison(level, (), DIFFERENT_TYPE, diff)
    try:
        backward = await registry.why_not_readable(newer, older)
        forward = await registry.why_not_readable(older, newer)
    except RegistryError as why:
        return Comparison(level, (), why.message, diff)
    checks = CHECKS_OF_LEVEL[level]
    directions = (
        _direction(newer, older, backward, is_needed=checks.new_reads_old),
        _direction(older, newer, forward, is_needed=checks.old_reads_new),
    )
    return Comparison(level, directions, None, diff)


def _direction(
    reader: StoredSchema, writer: StoredSchema, found: Sequence[Incompatibility], *, is_needed: bool
) -> Direction:
    names = f"version {reader.version}", f"version {writer.version}"
    reasons = [Reason(each.kind, each.described(*names)) for each in found[:REASONS_MAX]]
    return Direction(reader.version, writer.version, is_needed, reasons, max(0, len(found) - REASONS_MAX))


def _attached(content: SchemaContent) -> list[tuple[str, str]]:
    """Return metadata and rule set, as far as there are any, as text."""
    parts = (("Metadata", content.metadata), ("Rules", content.rule_set))
    return [
        (name, json.dumps(value, indent=2, ensure_ascii=False)[:TEXT_CHARACTERS_MAX]) for name, value in parts if value
    ]


def context_of(schema: StoredSchema) -> str:
    """Return the context of a version, `.` for the default one."""
    return qualified(schema.subject).context


def _shown_name(name: str) -> str:
    return "compatibility" if name == LEVEL else name


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SETTING_CHARACTERS_MAX else text[:_SETTING_CHARACTERS_MAX] + CUT
