# compiled: mypyc
"""The records of `_schemas`, as Confluent Schema Registry writes them: JSON for key and value, fields in its order.

| keytype | changes | value |
|---|---|---|
| SCHEMA | a version of a subject | the schema; none: the version is deleted for good |
| DELETE_SUBJECT | all versions of a subject up to one | that version: they are marked as deleted |
| CLEAR_SUBJECT | the versions of a subject or context that are marked as deleted | they are gone for good |
| CONFIG, MODE | a setting of a subject, a context or, without a subject, all | the setting; none: it is not set |
| CONTEXT | a context | none: it is deleted |
| NOOP | nothing | |

Reading is lenient: other registries write other fields, in another order.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from barnabas.registry.state.metadata import read_metadata
from barnabas.registry.state.plain_json import json_bytes, json_value
from barnabas.registry.state.rule_sets import read_rule_set
from barnabas.registry.state.settings import MODES, SubjectConfig, read_config
from barnabas.registry.state.stored_schema import AVRO, SchemaContent, SchemaReference, StoredSchema

TENANT = "default"


class SchemaRecord(NamedTuple):
    """A version of a subject; `schema` is None once it is deleted for good."""

    subject: str
    version: int
    schema: StoredSchema | None


class DeleteSubjectRecord(NamedTuple):
    """All versions of a subject up to this one are marked as deleted."""

    subject: str
    version: int


class ClearSubjectRecord(NamedTuple):
    """Versions that are marked as deleted are gone, of a subject, a context or (None) all of them."""

    subject: str | None


class ConfigRecord(NamedTuple):
    """The configuration of a subject or context, or the global one."""

    subject: str | None
    config: SubjectConfig | None


class ModeRecord(NamedTuple):
    """The mode of a subject or context, or the global one."""

    subject: str | None
    mode: str | None


class ContextRecord(NamedTuple):
    """A context with a name."""

    context: str
    is_present: bool


RegistryRecord: TypeAlias = (
    SchemaRecord | DeleteSubjectRecord | ClearSubjectRecord | ConfigRecord | ModeRecord | ContextRecord
)


class InvalidRegistryRecord(ValueError):
    """A record of `_schemas` that cannot be read. The message is a sentence."""


def encode(record: RegistryRecord) -> tuple[bytes, bytes | None]:
    """Return key and value."""
    if isinstance(record, SchemaRecord):
        key: dict[str, Any] = {"keytype": "SCHEMA", "subject": record.subject, "version": record.version, "magic": 1}
        return json_bytes(key), None if record.schema is None else json_bytes(_schema_fields(record.schema))
    if isinstance(record, DeleteSubjectRecord):
        value = {"subject": record.subject, "version": record.version}
        return _settings_key("DELETE_SUBJECT", record.subject), json_bytes(value)
    if isinstance(record, ClearSubjectRecord):
        return _settings_key("CLEAR_SUBJECT", record.subject), json_bytes(_subject_field(record.subject))
    if isinstance(record, ConfigRecord):
        found = None if record.config is None else json_bytes({**_subject_field(record.subject), **record.config})
        return _settings_key("CONFIG", record.subject), found
    if isinstance(record, ModeRecord):
        mode = None if record.mode is None else json_bytes({**_subject_field(record.subject), "mode": record.mode})
        return _settings_key("MODE", record.subject), mode
    context = {"tenant": TENANT, "context": record.context}
    key = {"keytype": "CONTEXT", **context, "magic": 0}
    return json_bytes(key), json_bytes(context) if record.is_present else None


def decode(key: bytes | None, value: bytes | None, timestamp_ms: int) -> RegistryRecord | None:
    """Return the record; None for one that changes nothing. Raises InvalidRegistryRecord."""
    try:
        fields = _object(json_value(key or b"null"))
        read = _READERS.get(str(fields.get("keytype")))
        return (
            None if read is None else read(fields, None if value is None else _object(json_value(value)), timestamp_ms)
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidRegistryRecord(f"{type(error).__name__}: {error}") from error


def _settings_key(keytype: str, subject: str | None) -> bytes:
    return json_bytes({"keytype": keytype, **_subject_field(subject), "magic": 0})


def _subject_field(subject: str | None) -> dict[str, str]:
    return {"subject": subject} if subject else {}


def _schema_fields(schema: StoredSchema) -> dict[str, Any]:
    """Return the fields of a value. The MD5 is one of them only if the content has another one."""
    content = schema.content
    fields: dict[str, Any] = {"subject": schema.subject, "version": schema.version, "id": schema.schema_id}
    if schema.fingerprint != content.fingerprint:
        fields["md5"] = b64encode(schema.fingerprint).decode()
    fields["schemaType"] = content.schema_type
    if content.references:
        fields["references"] = [reference._asdict() for reference in content.references]
    if content.metadata is not None:
        fields["metadata"] = content.metadata
    if content.rule_set is not None:
        fields["ruleSet"] = content.rule_set
    return {**fields, "schema": content.text, "deleted": schema.is_deleted}


def _read_schema(key: Mapping[str, Any], value: Mapping[str, Any] | None, timestamp_ms: int) -> RegistryRecord:
    subject, version = _text(key["subject"]), _number(key["version"])
    if value is None:
        return SchemaRecord(subject, version, None)
    content = SchemaContent(
        _text(value.get("schemaType") or AVRO),
        tuple(map(_reference, value.get("references") or ())),
        read_metadata(value.get("metadata")),
        read_rule_set(value.get("ruleSet")),
        _text(value["schema"]),
    )
    stored = StoredSchema(
        subject,
        version,
        _number(value["id"]),
        content,
        _md5(value.get("md5")) or content.fingerprint,
        value.get("deleted") is True,
        timestamp_ms,
    )
    return SchemaRecord(subject, version, stored)


def _reference(value: Mapping[str, Any]) -> SchemaReference:
    return SchemaReference(_text(value["name"]), _text(value["subject"]), _number(value["version"]))


def _md5(value: Any) -> bytes | None:
    if not isinstance(value, str):
        return None
    try:
        found = b64decode(value, validate=True)
    except NotBase64:
        return None
    return found if len(found) == 16 else None


def _read_delete(key: Mapping[str, Any], value: Mapping[str, Any] | None, _: int) -> RegistryRecord | None:
    if value is None:
        return None
    return DeleteSubjectRecord(_text(value.get("subject") or key["subject"]), _number(value["version"]))


def _read_clear(key: Mapping[str, Any], value: Mapping[str, Any] | None, _: int) -> RegistryRecord | None:
    return None if value is None else ClearSubjectRecord(_optional(value.get("subject") or key.get("subject")))


def _read_config(key: Mapping[str, Any], value: Mapping[str, Any] | None, _: int) -> RegistryRecord:
    return ConfigRecord(_optional(key.get("subject")), None if value is None else read_config(value))


def _read_mode(key: Mapping[str, Any], value: Mapping[str, Any] | None, _: int) -> RegistryRecord:
    mode = None if value is None else value.get("mode")
    if mode is not None and mode not in MODES:
        raise ValueError(f"mode {mode} is not one of {', '.join(MODES)}")
    return ModeRecord(_optional(key.get("subject")), mode)


def _read_context(key: Mapping[str, Any], value: Mapping[str, Any] | None, _: int) -> RegistryRecord:
    return ContextRecord(_text(key["context"]), value is not None)


_READERS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any] | None, int], RegistryRecord | None]] = {
    "SCHEMA": _read_schema,
    "DELETE_SUBJECT": _read_delete,
    "CLEAR_SUBJECT": _read_clear,
    "CONFIG": _read_config,
    "MODE": _read_mode,
    "CONTEXT": _read_context,
}


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("it is not an object")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def _optional(value: Any) -> str | None:
    return None if value is None else _text(value)


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is not a number")
    return value
