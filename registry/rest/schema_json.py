"""A version of a subject in the answers of the API. Empty fields are left out, in Confluent's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.registry.state.qualified_subject import DEFAULT_CONTEXT, qualified, qualified_within
from barnabas.registry.state.stored_schema import SchemaReference, StoredSchema


def version_json(
    schema: StoredSchema, text: str | None = None, *, is_stored: bool = True, references: str = ""
) -> dict[str, Any]:
    """Return a version with its subject. text: in another format. is_stored: with its time, and whether it is deleted.

    references: "qualified" names the context of references, too.
    """
    fields: dict[str, Any] = {"subject": schema.subject, "version": schema.version, "id": schema.schema_id}
    fields |= _content_json(schema, text, references)
    return fields | (_record_json(schema) if is_stored else {})


def registered_json(schema: StoredSchema, text: str | None = None) -> dict[str, Any]:
    """Return the answer to a registration."""
    return {"id": schema.schema_id, "version": schema.version, **_content_json(schema, text, "")}


def id_json(schema: StoredSchema, text: str | None, max_id: int | None, references: str = "") -> dict[str, Any]:
    """Return a schema that was looked up by its id. max_id: the largest id of its context, if that was asked for."""
    content = _content_json(schema, text, references)
    shown = content.pop("schema")
    ordered = {"guid": content.pop("guid"), "schemaType": content.pop("schemaType"), "schema": shown, **content}
    found = {"subject": schema.subject, "version": schema.version, **ordered}
    return found | ({} if max_id is None else {"maxId": max_id}) | _record_json(schema)


def guid_json(schema: StoredSchema, text: str | None) -> dict[str, Any]:
    """Return a schema that was looked up by its guid, which belongs to no subject."""
    found = id_json(schema, text, None)
    return {name: each for name, each in found.items() if name not in ("subject", "version")}


def _content_json(schema: StoredSchema, text: str | None, references: str) -> dict[str, Any]:
    content = schema.content
    fields: dict[str, Any] = {"guid": schema.guid, "schemaType": content.schema_type}
    if content.references:
        fields["references"] = [each._asdict() for each in _shown_references(schema, references)]
    if content.metadata is not None:
        fields["metadata"] = content.metadata
    if content.rule_set is not None:
        fields["ruleSet"] = content.rule_set
    fields["schema"] = content.text if text is None else text
    return fields


def _shown_references(schema: StoredSchema, references: str) -> Sequence[SchemaReference]:
    if references != "qualified" or qualified(schema.subject).context == DEFAULT_CONTEXT:
        return schema.content.references
    return [
        each._replace(subject=qualified_within(schema.subject, each.subject).name) for each in schema.content.references
    ]


def _record_json(schema: StoredSchema) -> dict[str, Any]:
    if schema.timestamp_ms is None:
        return {"deleted": schema.is_deleted}
    return {"ts": schema.timestamp_ms, "deleted": schema.is_deleted}
