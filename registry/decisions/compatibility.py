"""Whether a new schema fits the versions before it, by the compatibility level. The words of a refusal are Confluent's.

| level | the new schema reads the last version | the last version reads the new schema | all versions |
|---|---|---|---|
| NONE | | | |
| BACKWARD, BACKWARD_TRANSITIVE | yes | | of the transitive one |
| FORWARD, FORWARD_TRANSITIVE | | yes | of the transitive one |
| FULL, FULL_TRANSITIVE | yes | yes | of the transitive one |

The compatibility policy LENIENT, of JSON Schema, counts in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from barnabas.registry.decisions.parsing import SchemaCandidate
from barnabas.registry.decisions.reserved_fields import reserved_messages
from barnabas.registry.schemas.parsed_schema import ParsedSchema
from barnabas.registry.state.metadata import property_of
from barnabas.registry.state.settings import LENIENT, LEVEL, POLICY, CompatibilityLevel, SubjectConfig
from barnabas.registry.state.stored_schema import StoredSchema

DIFFERENT_TYPE = "Incompatible because of different schema type"
_OLD_SCHEMA_CHARACTERS_MAX = 10 * 1024

ParsedOf = Callable[[StoredSchema], ParsedSchema]
"""Returns the parsed form of a stored version. Raises RegistryError."""


class LevelChecks(NamedTuple):
    """The checks that a compatibility level asks for."""

    new_reads_old: bool
    old_reads_new: bool
    is_transitive: bool


CHECKS_OF_LEVEL: Mapping[CompatibilityLevel, LevelChecks] = {
    "NONE": LevelChecks(False, False, False),
    "BACKWARD": LevelChecks(True, False, False),
    "BACKWARD_TRANSITIVE": LevelChecks(True, False, True),
    "FORWARD": LevelChecks(False, True, False),
    "FORWARD_TRANSITIVE": LevelChecks(False, True, True),
    "FULL": LevelChecks(True, True, False),
    "FULL_TRANSITIVE": LevelChecks(True, True, True),
}


def versions_to_check(
    config: SubjectConfig, candidate: SchemaCandidate, versions: Sequence[StoredSchema]
) -> list[StoredSchema]:
    """Return the versions that the new schema is compared with, the last one first."""
    check = CHECKS_OF_LEVEL[config[LEVEL]]
    if not (check.new_reads_old or check.old_reads_new):
        return []
    group = config.get("compatibilityGroup")
    found = [each for each in reversed(versions) if group is None or _group(each, group) == _group(candidate, group)]
    return found if check.is_transitive else found[:1]


def incompatibility_messages(
    config: SubjectConfig, candidate: SchemaCandidate, versions: Sequence[StoredSchema], parsed_of: ParsedOf
) -> list[str]:
    """Return why the schema is not compatible with the versions, given in their order; empty if it is."""
    validates = config.get("validateFields") is True
    messages = reserved_messages(candidate, versions) if validates else []
    messages += _incompatible(config, candidate, versions, parsed_of)
    if messages:
        messages.append(f"{{validateFields: '{str(validates).lower()}', compatibility: '{config[LEVEL]}'}}")
    return messages


def _incompatible(
    config: SubjectConfig, candidate: SchemaCandidate, versions: Sequence[StoredSchema], parsed_of: ParsedOf
) -> list[str]:
    """Return why the schema is not compatible with the first version that it is not compatible with."""
    check, is_lenient = CHECKS_OF_LEVEL[config[LEVEL]], config.get(POLICY) == LENIENT
    found = (
        _messages(check, candidate, version, parsed_of, lenient=is_lenient)
        for version in versions_to_check(config, candidate, versions)
    )
    return next((messages for messages in found if messages), [])


def _messages(
    check: LevelChecks, candidate: SchemaCandidate, version: StoredSchema, parsed_of: ParsedOf, *, lenient: bool
) -> list[str]:
    if version.content.schema_type != candidate.content.schema_type:
        return [DIFFERENT_TYPE]
    old, found = parsed_of(version), list[str]()
    if check.old_reads_new:
        found += [each.line("old", "new") for each in old.incompatibilities(candidate.parsed, lenient=lenient)]
    if check.new_reads_old:
        found += [each.line("new", "old") for each in candidate.parsed.incompatibilities(old, lenient=lenient)]
    return [*found, f"{{oldSchemaVersion: {version.version}}}", _old_schema(version)] if found else []


def _old_schema(version: StoredSchema) -> str:
    text = version.content.text
    if len(text) <= _OLD_SCHEMA_CHARACTERS_MAX:
        return f"{{oldSchema: '{text}'}}"
    return f"{{oldSchema: <truncated> '{text[:_OLD_SCHEMA_CHARACTERS_MAX]}...'}}"


def _group(schema: StoredSchema | SchemaCandidate, group: str) -> Any:
    return property_of(schema.content.metadata, group)
