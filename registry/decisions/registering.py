# compiled: mypyc
"""The registration of a schema as a version of a subject.

The steps of Confluent's registry, in its order: the mode allows it; metadata and rules come from the configuration and
the version before; a schema that the subject has is answered with its version; one that another subject of the context
has keeps its id; a new one must be compatible, and gets the next id and version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.registry.decisions.compatibility import ParsedOf, incompatibility_messages
from barnabas.registry.decisions.errors import incompatible, invalid_schema, not_permitted
from barnabas.registry.decisions.lookups import equal_version
from barnabas.registry.decisions.parsing import SchemaCandidate, SchemaWish
from barnabas.registry.state.metadata import (
    CONFLUENT_VERSION,
    merged_metadata,
    property_of,
    with_confluent_version,
)
from barnabas.registry.state.qualified_subject import DEFAULT_CONTEXT, qualified
from barnabas.registry.state.records import ContextRecord, RegistryRecord, SchemaRecord
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.rule_sets import merged_rule_sets
from barnabas.registry.state.settings import FORWARD, IMPORT, READONLY, READONLY_OVERRIDE, READWRITE, SubjectConfig
from barnabas.registry.state.stored_schema import StoredSchema


class Registered(NamedTuple):
    """A registration. records: to be written; none if the subject has the schema already."""

    schema: StoredSchema
    records: Sequence[RegistryRecord] = ()


class Examined(NamedTuple):
    """The comparison of a new schema with the versions of its subject. equal: the version that it is, if any."""

    equal: StoredSchema | None
    messages: Sequence[str]


def is_import(mode: str) -> bool:
    """Return whether schemas are imported with their ids."""
    return mode in (IMPORT, FORWARD)


def check_writable(state: RegistryState, subject: str | None) -> None:
    """Raise RegistryError 42205 if the subject can only be read."""
    if state.mode_in_scope(subject) in (READONLY, READONLY_OVERRIDE):
        context = "" if subject is None else qualified(subject).context_prefix
        raise not_permitted(f"Subject {subject or 'null'} in context {context} is in read-only mode")


def check_mode(state: RegistryState, subject: str, wish: SchemaWish) -> None:
    """Raise RegistryError 42205 if the mode does not allow the registration."""
    check_writable(state, subject)
    mode, context = state.mode_in_scope(subject), qualified(subject).context_prefix
    if wish.schema_id >= 0 and not is_import(mode):
        raise not_permitted(f"Subject {subject} in context {context} is not in import mode")
    if wish.schema_id < 0 and mode != READWRITE:
        raise not_permitted(f"Subject {subject} in context {context} is not in read-write mode")


def filled(
    config: SubjectConfig, wish: SchemaWish, previous: StoredSchema | None, new_version: int | None
) -> SchemaWish:
    """Return the wish with what comes from the configuration and the version before. Raises RegistryError.

    new_version: None for a lookup.
    """
    if wish.is_empty:
        if previous is None:
            raise invalid_schema("Empty schema")
        content = previous.content
        wish = wish._replace(text=content.text, schema_type=content.schema_type, references=content.references)
    own_metadata, own_rules = wish.metadata, wish.rule_set
    if previous is not None:
        own_metadata = previous.content.metadata if own_metadata is None else own_metadata
        own_rules = previous.content.rule_set if own_rules is None else own_rules
    metadata = merged_metadata(
        merged_metadata(config.get("defaultMetadata"), own_metadata), config.get("overrideMetadata")
    )
    rules = merged_rule_sets(merged_rule_sets(config.get("defaultRuleSet"), own_rules), config.get("overrideRuleSet"))
    has_version = wish.version != 0 or property_of(metadata, CONFLUENT_VERSION) is not None
    if new_version is not None and has_version:
        metadata = with_confluent_version(metadata, new_version)
    return wish._replace(metadata=metadata, rule_set=rules)


def next_version(versions: Sequence[StoredSchema]) -> int:
    """Return the version that follows these, deleted ones included."""
    return max((each.version for each in versions), default=0) + 1


def examined(
    config: SubjectConfig,
    wish: SchemaWish,
    candidate: SchemaCandidate,
    undeleted: Sequence[StoredSchema],
    parsed_of: ParsedOf,
    *,
    is_checked: bool,
) -> Examined:
    """Compare a new schema with the versions of its subject, in their order. May take long. Raises RegistryError.

    is_checked: whether it must be compatible.
    """
    if wish.version == 0:
        candidates = [each for each in undeleted if wish.schema_id in (-1, each.schema_id)]
        equal = equal_version(candidate, candidates, parsed_of)
        if equal is not None:
            return Examined(equal, ())
    return Examined(None, incompatibility_messages(config, candidate, undeleted, parsed_of) if is_checked else ())


def known_version(
    state: RegistryState, subject: str, wish: SchemaWish, candidate: SchemaCandidate
) -> StoredSchema | None:
    """Return the version of the subject that has exactly this content, if the wish does not ask for another one."""
    found = _with_same_content(state, subject, candidate, wish.schema_id)
    if found is None or wish.version != 0:
        return None
    own = state.schema_of_id(found.schema_id, subject)
    return own if own is not None and not own.is_deleted else None


def decide(
    state: RegistryState, subject: str, wish: SchemaWish, candidate: SchemaCandidate, seen: Examined
) -> Registered:
    """Return the registration of a schema that the subject does not have yet. Raises RegistryError."""
    if seen.messages:
        raise incompatible(subject, f"[{', '.join(seen.messages)}]")
    versions, mode = state.versions(subject), state.mode_in_scope(subject)
    version = wish.version if wish.version > 0 else next_version(versions)
    if version != next_version(versions) and not is_import(mode):
        raise invalid_schema("Version is not one more than previous version")
    schema_id = _id_for(state, subject, wish, candidate)
    schema = StoredSchema(subject, version, schema_id, candidate.content, candidate.fingerprint)
    records: list[RegistryRecord] = []
    context = qualified(subject).context
    if context != DEFAULT_CONTEXT and not state.has_context(context):
        records.append(ContextRecord(context, is_present=True))
    for each in versions:
        is_replaced = each.is_deleted and each.schema_id == schema_id and each.version < version
        if is_replaced and not state.referrers((subject, each.version), deleted=True):
            records.append(SchemaRecord(subject, each.version, None))
    return Registered(schema, [*records, SchemaRecord(subject, version, schema)])


def _id_for(state: RegistryState, subject: str, wish: SchemaWish, candidate: SchemaCandidate) -> int:
    same = _with_same_content(state, subject, candidate, wish.schema_id)
    if same is not None:
        return same.schema_id
    index = state.index(subject)
    if wish.schema_id < 0:
        return index.max_id + 1
    existing = state.schema_of_id(wish.schema_id, qualified(subject).context_prefix or None)
    if existing is not None and existing.content != candidate.content:
        context = qualified(subject).context_prefix
        raise not_permitted(f"Overwrite new schema with id {wish.schema_id} in context {context} is not permitted.")
    return wish.schema_id


def _with_same_content(
    state: RegistryState, subject: str, candidate: SchemaCandidate, schema_id: int
) -> StoredSchema | None:
    """Return a version of any subject of the context with this content, and with the id if it is not -1."""
    found = state.index(subject).id_of(candidate.fingerprint)
    if found is None or schema_id not in (-1, found):
        return None
    return state.schema_of_id(found, qualified(subject).context_prefix or None)
