"""The schemas of a seed on their way to a registry, in their order, so that the later may refer to the earlier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import msgspec

from barnabas.broker.server.seeding.document import SeedReference, SeedSchema
from barnabas.broker.server.seeding.reading import SeedSource
from barnabas.registry.decoding.framing import with_id
from barnabas.registry.encoding.encoders import Encoder, encoder_for
from barnabas.registry.encoding.errors import UnencodableValue
from barnabas.registry.schemas.parsed_schema import InvalidSchema, ReferencedSchema

TOPIC = "_schemas"
_NO_REGISTRY = "the broker has no schema registry: start it with --registry, or Barnabas(registry=True)"


class SchemaRefused(Exception):
    """A registry's refusal. The message is a sentence."""


class SchemaStore(Protocol):
    """A registry that takes schemas."""

    def set_compatibility(self, subject: str, level: str) -> None:
        """Set the compatibility level of a subject. Raises SchemaRefused."""

    def register(self, subject: str, schema_type: str, text: str, references: Sequence[SeedReference]) -> int:
        """Register a schema, and return its id. Raises SchemaRefused."""


def check_schemas(source: SeedSource, store: SchemaStore | None) -> None:
    """Check what can be known before anything is applied. Raises SeedError."""
    for index, schema in enumerate(source.seed.schemas):
        if store is None:
            raise source.error(("schemas",), _NO_REGISTRY)
        if schema.type == "PROTOBUF" and not isinstance(schema.schema, str):
            raise source.error(("schemas", index, "schema"), "the schema is the text of a .proto file")
    for index, topic in enumerate(source.seed.topics):
        if source.seed.schemas and topic.name == TOPIC:
            what = f"the registry writes {TOPIC}: a seed has either this topic or schemas"
            raise source.error(("topics", index, "name"), what)


def register_schemas(source: SeedSource, store: SchemaStore) -> list[int]:
    """Register the schemas, each under the compatibility of its subject, and return their ids. Raises SeedError."""
    ids = []
    for index, schema in enumerate(source.seed.schemas):
        field = "compatibility"
        try:
            if schema.compatibility is not None:
                store.set_compatibility(schema.subject, schema.compatibility)
            field = "schema"
            ids.append(store.register(schema.subject, schema.type, text_of(schema), schema.references))
        except SchemaRefused as refusal:
            raise source.error(("schemas", index, field), str(refusal)) from refusal
    return ids


def use_schemas(source: SeedSource, ids: Sequence[int]) -> None:
    """Let records be encoded by the schemas, which have these ids: by the last one of each subject."""
    encoders: dict[str, Callable[[Any], bytes]] = {}
    known: dict[str, list[ReferencedSchema]] = {}
    for schema, schema_id in zip(source.seed.schemas, ids, strict=True):
        references = tuple(each for named in schema.references for each in _referenced(named, known))
        encoders[schema.subject] = _encoder(schema, schema_id, references)
        versions = known.setdefault(schema.subject, [])
        versions.append(ReferencedSchema("", schema.subject, len(versions) + 1, text_of(schema), references))
    source.encoders = encoders


def _referenced(named: SeedReference, known: Mapping[str, Sequence[ReferencedSchema]]) -> Iterator[ReferencedSchema]:
    """Yield the schema of the seed that is referred to; nothing for one that only the registry has."""
    versions = known.get(named.subject, ())
    number = len(versions) if named.version < 1 else named.version
    if 0 < number <= len(versions):
        yield versions[number - 1]._replace(name=named.name)


def _encoder(schema: SeedSchema, schema_id: int, references: Sequence[ReferencedSchema]) -> Callable[[Any], bytes]:
    """Return the encoder of a schema, made when it is first used: a schema that is not used may have none."""

    @cache
    def made() -> Encoder:
        try:
            return encoder_for(schema.type, text_of(schema), references)
        except InvalidSchema as why:
            raise UnencodableValue(f"the schema of {schema.subject} cannot be used: {why}") from why

    return lambda value: with_id(schema_id, made()(value))


def text_of(schema: SeedSchema) -> str:
    """Return the text of a schema that may be given as a structure."""
    return schema.schema if isinstance(schema.schema, str) else msgspec.json.encode(schema.schema).decode()
