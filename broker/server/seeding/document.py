"""The shape of a seed: schemas, topics with their records, transactions, committed offsets, users and ACLs.

A value is given in one of four forms, as text, as JSON, as base64 or as the name of a file; the same for a key. JSON
may be encoded by one of the schemas. A field that the seed does not know is an error. `json_schema` returns the same as
a JSON Schema.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from barnabas.registry.state.settings import CompatibilityLevel

_Topic = Annotated[
    str, Meta(pattern=r"^[a-zA-Z0-9._-]+$", min_length=1, max_length=249, description="The name of a topic.")
]
_Name = Annotated[str, Meta(min_length=1)]
_Text = str | int | float | bool
_Offset = Annotated[int, Meta(ge=0)]
_Partition = Annotated[
    int, Meta(ge=0, description="The partition; by default chosen by the key, as by Kafka's clients.")
]
_Timestamp = Annotated[int, Meta(ge=0)] | Annotated[datetime, Meta(tz=True)]


class SeedReference(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A schema that another one refers to by a name: a version of a subject, by default the latest."""

    name: _Name
    subject: _Name
    version: Annotated[int, Meta(ge=-1, le=2**31 - 1)] = -1


class SeedSchema(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A schema, registered as the next version of its subject. It is a text, or the values that its JSON has."""

    subject: _Name
    type: Literal["AVRO", "JSON", "PROTOBUF"] = "AVRO"
    schema: str | dict[str, Any] | list[Any] | bool
    references: list[SeedReference] = []
    compatibility: CompatibilityLevel | None = None
    """The level of the subject, from this schema on."""


class Header(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A header of a record: a name, and a value as text, as JSON or as base64; null is no value."""

    name: str
    value: str | UnsetType | None = UNSET
    value_json: Any = UNSET
    value_base64: str | UnsetType = UNSET


class SeedRecord(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A record. `value: null` is a tombstone; without a key field it has no key."""

    key: str | UnsetType | None = UNSET
    key_json: Any = UNSET
    key_base64: str | UnsetType = UNSET
    key_file: str | UnsetType = UNSET
    key_schema: _Name | UnsetType = UNSET
    value: str | UnsetType | None = UNSET
    value_json: Any = UNSET
    value_base64: str | UnsetType = UNSET
    value_file: str | UnsetType = UNSET
    value_schema: _Name | UnsetType = UNSET
    """A subject of the seed's schemas: by its last one value_json is encoded, with its id."""
    headers: dict[str, str | None] | list[Header] = {}
    partition: _Partition | None = None
    timestamp: _Timestamp | None = None
    """In ms since 1970, or a date with its time and time zone; by default the time at which it is written."""


class TransactionRecord(SeedRecord, kw_only=True):
    """A record of a transaction."""

    topic: _Topic


class RecordFile(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A file with a record in each line: a record of a seed as JSON, or the text of a value.

    The name of the file begins at the folder of the seed.
    """

    file: _Name
    format: Literal["json-lines", "lines"] = "json-lines"


class SeedTopic(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A topic, its configuration under Kafka's names, and its records: those that are listed, then those of files."""

    name: _Topic
    partitions: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    """By default num.partitions of the broker."""
    config: dict[str, _Text | list[_Text]] = {}
    records: list[SeedRecord] = []
    records_from: list[RecordFile] = []


class TransactionOffset(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """An offset of a group that is committed as part of a transaction: the next one to read."""

    group: _Name
    topic: _Topic
    partition: Annotated[int, Meta(ge=0)]
    offset: _Offset


class SeedTransaction(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A transaction: committed, aborted, or left open. They take place in their order, after the records of topics."""

    transactional_id: _Name
    outcome: Literal["committed", "aborted", "open"]
    timeout_ms: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 60_000
    """For how long it may stay open before the broker aborts it."""
    records: list[TransactionRecord] = []
    offsets: list[TransactionOffset] = []


class GroupOffset(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A committed offset of a group: a number, or the start or the end of the partition."""

    topic: _Topic
    partition: Annotated[int, Meta(ge=0)]
    offset: _Offset | Literal["earliest", "latest"]


class SeedGroup(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A group of consumers with its committed offsets."""

    group_id: _Name
    offsets: Annotated[list[GroupOffset], Meta(min_length=1)]


class SeedUser(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A user who logs in with SCRAM."""

    name: _Name
    password: _Name
    mechanisms: list[Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]] = []
    """By default all of them."""

    def __repr__(self) -> str:
        return f"SeedUser({self.name!r}, …)"  # no password in a log


class SeedAcl(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """An access control list entry for one principal and one resource: exactly one of the six resource fields."""

    principal: Annotated[str, Meta(pattern="^User:.+$")]
    operations: Annotated[list[_Name], Meta(min_length=1)]
    """Kafka's names: Read, Write, Describe, All …"""
    topic: str | UnsetType = UNSET
    group: str | UnsetType = UNSET
    transactional_id: str | UnsetType = UNSET
    delegation_token: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    cluster: Literal[True] | UnsetType = UNSET
    pattern: Literal["literal", "prefixed"] = "literal"
    permission: Literal["allow", "deny"] = "allow"
    host: _Name = "*"


class Seed(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The content of a new broker."""

    version: Literal[1] = 1
    schemas: list[SeedSchema] = []
    topics: list[SeedTopic] = []
    transactions: list[SeedTransaction] = []
    groups: list[SeedGroup] = []
    users: list[SeedUser] = []
    acls: list[SeedAcl] = []


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a seed, draft 2020-12."""
    schema = msgspec.json.schema(Seed)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A seed of Barnabas"}
    return {**head, **schema}
