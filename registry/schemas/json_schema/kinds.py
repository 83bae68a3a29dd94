"""The incompatible changes of a JSON schema by Confluent's names, and the sentences that its registry tells them with.

Changes that are compatible (MAX_LENGTH_INCREASED, ...) have no name here: nothing tells of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from barnabas.registry.schemas.parsed_schema import Incompatibility

# What the policy LENIENT takes, beside what every policy does.
LENIENT = frozenset(
    (
        "ADDITIONAL_PROPERTIES_NARROWED",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "UNEVALUATED_PROPERTIES_NARROWED",
        "UNEVALUATED_PROPERTIES_REMOVED",
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    )
)


def _named(subjects: str, verb: str) -> Iterator[str]:
    return (f"{subject}_{verb}" for subject in subjects.split())


_LIMITS_ABOVE = "MAXIMUM EXCLUSIVE_MAXIMUM MAX_LENGTH MAX_PROPERTIES MAX_ITEMS MAX_CONTAINS"
_LIMITS_BELOW = "MINIMUM EXCLUSIVE_MINIMUM MIN_LENGTH MIN_PROPERTIES MIN_ITEMS MIN_CONTAINS"
_OTHER_LIMITS = "MULTIPLE_OF PATTERN REQUIRED_ATTRIBUTE DEPENDENCY_ARRAY DEPENDENCY_SCHEMA UNIQUE_ITEMS"
_REST = "ADDITIONAL_ITEMS ADDITIONAL_PROPERTIES UNEVALUATED_PROPERTIES UNEVALUATED_ITEMS"
_ADDED_TO_OPEN = "REQUIRED_PROPERTY_ADDED REQUIRED_PROPERTY_WITH_DEFAULT_ADDED OPTIONAL_PROPERTY_ADDED ITEM_ADDED"
_CHANGED_TYPES = ("TYPE_CHANGED", "TYPE_NARROWED", "COMBINED_TYPE_CHANGED", "COMBINED_TYPE_SUBSCHEMAS_CHANGED")

# Each sentence with the kinds that it tells of; "{path}" is where, "%s" the reader's schema and then the writer's.
_SENTENCES: tuple[tuple[str, Iterable[str]], ...] = (
    (
        "The keyword at path '{path}' in the %s schema is not present in the %s schema",
        (*_named(f"{_LIMITS_ABOVE} {_LIMITS_BELOW} {_OTHER_LIMITS}", "ADDED"), *_named(_REST, "REMOVED")),
    ),
    (
        "The value at path '{path}' in the %s schema is more than its value in the %s schema",
        (*_named(_LIMITS_BELOW, "INCREASED"), "MULTIPLE_OF_EXPANDED"),
    ),
    (
        "The value at path '{path}' in the %s schema is less than its value in the %s schema",
        _named(_LIMITS_ABOVE, "DECREASED"),
    ),
    (
        "The value at path '{path}' is different between the %s and %s schema",
        _named("PATTERN MULTIPLE_OF DEPENDENCY_ARRAY", "CHANGED"),
    ),
    (
        "An array or combined type at path '{path}' has fewer elements in the %s schema than the %s schema",
        _named(f"{_REST} ENUM_ARRAY SUM_TYPE", "NARROWED"),
    ),
    (
        "An array or combined type at path '{path}' has more elements in the %s schema than the %s schema",
        _named("DEPENDENCY_ARRAY PRODUCT_TYPE NOT_TYPE", "EXTENDED"),
    ),
    (
        "A type at path '{path}' is different between the %s schema and the %s schema",
        (*_CHANGED_TYPES, "ENUM_ARRAY_CHANGED"),
    ),
    (
        "The %s schema has an open content model and has a property or item at path '{path}' which is missing in the "
        "%s schema",
        _named(_ADDED_TO_OPEN, "TO_OPEN_CONTENT_MODEL"),
    ),
    (
        "The %s schema has an unopen content model and has a required property at path '{path}' which is missing in "
        "the %s schema",
        ("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",),
    ),
    (
        "The %s has a closed content model and is missing a property or item present at path '{path}' in the %s schema",
        _named("PROPERTY ITEM", "REMOVED_FROM_CLOSED_CONTENT_MODEL"),
    ),
    (
        "A property or item is missing in the %s schema but present at path '{path}' in the %s schema and is not "
        "covered by its partially open content model",
        _named("PROPERTY ITEM", "REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"),
    ),
    (
        "The %s schema has a property or item at path '{path}' which is missing in the %s schema and is not covered by "
        "its partially open content model",
        _named("PROPERTY ITEM", "ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"),
    ),
)
DESCRIPTIONS = {kind: sentence for sentence, kinds in _SENTENCES for kind in kinds}
DESCRIPTIONS["SCHEMA_ADDED"] = ""  # Confluent has no words for it


def incompatibility(kind: str, parts: Iterable[str]) -> Incompatibility:
    """Return a change at a place as Confluent tells it."""
    path = "#/" + "/".join(parts)
    description = DESCRIPTIONS[kind].format(path=path)
    return Incompatibility(kind, path, description, f'{{errorType:"{kind}", description:"{description}\'}}')
