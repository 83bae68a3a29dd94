"""Metadata of a schema: tags, properties, and which properties are sensitive. Plain values, in their form in JSON.

Confluent's registry sorts keys and values, and leaves out what is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Metadata: TypeAlias = Mapping[str, Any]
"""{"tags": {path: [tag]}, "properties": {name: value}, "sensitive": [name]}."""

CONFLUENT_VERSION = "confluent:version"
_RESERVED = "confluent:reserved"


def read_metadata(value: Any) -> Metadata | None:
    """Return the metadata in a JSON value; unknown fields are left out. Raises ValueError."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ValueError("metadata is not an object")
    tags = {path: sorted(set(_texts(each, "tags"))) for path, each in _object(value.get("tags"), "tags").items()}
    properties = {name: _text(each, "properties") for name, each in _object(value.get("properties"), "").items()}
    sensitive = sorted(set(_texts(value.get("sensitive"), "sensitive")))
    return _without_empty(dict(sorted(tags.items())), dict(sorted(properties.items())), sensitive)


def merged_metadata(older: Metadata | None, newer: Metadata | None) -> Metadata | None:
    """Return both, where the newer one wins."""
    if older is None or newer is None:
        return newer if older is None else older
    tags = {**older.get("tags", {}), **newer.get("tags", {})}
    properties = {**older.get("properties", {}), **newer.get("properties", {})}
    sensitive = sorted({*older.get("sensitive", ()), *newer.get("sensitive", ())})
    return _without_empty(dict(sorted(tags.items())), dict(sorted(properties.items())), sensitive)


def with_confluent_version(metadata: Metadata | None, version: int) -> Metadata:
    """Return the metadata with the version of its schema as a property."""
    set_version = merged_metadata(metadata, {"properties": {CONFLUENT_VERSION: str(version)}})
    assert set_version is not None
    return set_version


def without_confluent_version(metadata: Metadata | None) -> Metadata:
    """Return the metadata without that property; empty ones if there are none."""
    if metadata is None:
        return {}
    properties = {name: each for name, each in metadata.get("properties", {}).items() if name != CONFLUENT_VERSION}
    return _without_empty(metadata.get("tags", {}), properties, metadata.get("sensitive", []))


def property_of(metadata: Metadata | None, name: str) -> str | None:
    """Return a property, or None."""
    found: str | None = None if metadata is None else metadata.get("properties", {}).get(name)
    return found


def reserved_fields(metadata: Metadata | None) -> frozenset[str]:
    """Return the names that no field may have."""
    return frozenset(name for each in (property_of(metadata, _RESERVED) or "").split(",") if (name := each.strip()))


def metadata_words(metadata: Metadata) -> Iterator[str]:
    """Yield all words of the metadata, in the order in which they are hashed."""
    for path, tags in metadata.get("tags", {}).items():
        yield path
        yield from tags
    for name, value in metadata.get("properties", {}).items():
        yield name
        yield value
    yield from metadata.get("sensitive", ())


def _without_empty(tags: Mapping[str, Any], properties: Mapping[str, str], sensitive: list[str]) -> Metadata:
    every = {"tags": tags, "properties": properties, "sensitive": sensitive}
    return {name: each for name, each in every.items() if each}


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping | None):
        raise ValueError(f"metadata: {name or 'properties'} is not an object")
    return value or {}


def _texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list | None):
        raise ValueError(f"metadata: {name} is not an array")
    return [_text(each, name) for each in value or ()]


def _text(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise ValueError(f"metadata: {name} has a value that is not a string")
    return str(value)
