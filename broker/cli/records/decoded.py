"""Keys and values of records, decoded by the schemas of a registry, for those who print them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from barnabas.broker.cli.records.registry_schemas import NoSchema, RegistrySchemas
from barnabas.registry.decoding.errors import UndecodableValue
from barnabas.registry.decoding.framing import KEY_HEADER, VALUE_HEADER, framed_part

if TYPE_CHECKING:
    from barnabas.protocol.records.record import BatchRecord


class DecodedPart(NamedTuple):
    """A key or a value as a plain value, and the id or the guid of its schema."""

    value: Any
    schema: int | str


class LocatedRecord(Protocol):
    """A record with its topic and partition."""

    @property
    def topic(self) -> str:
        """The topic."""

    @property
    def partition(self) -> int:
        """The partition."""

    @property
    def record(self) -> BatchRecord:
        """The record."""


class RecordDecoder:
    """Decodes what is in Confluent's wire format; each warning is given once, for the first record that it is about."""

    def __init__(self, schemas: RegistrySchemas) -> None:
        self._schemas = schemas
        self._warned: set[str] = set()

    def key(self, consumed: LocatedRecord) -> DecodedPart | None:
        """Return the decoded key; None if it is to be printed as it is. OSError if the registry does not answer."""
        return self._decoded("key", consumed.record.key, KEY_HEADER, consumed)

    def value(self, consumed: LocatedRecord) -> DecodedPart | None:
        """Return the decoded value, likewise."""
        return self._decoded("value", consumed.record.value, VALUE_HEADER, consumed)

    def _decoded(self, part: str, data: bytes | None, header: str, consumed: LocatedRecord) -> DecodedPart | None:
        message = framed_part(data, consumed.record.headers, header)
        if message is None:
            return None
        try:
            value = self._schemas.decoder(message)(message.payload)
        except NoSchema as why:
            self._warn(consumed, f"the {part} is printed as it is: {why}")
        except UndecodableValue as why:
            self._warn(consumed, f"the {part}, with the schema {message.schema_name}, is printed as it is: {why}")
        else:
            return DecodedPart(value, message.schema)
        return None

    def _warn(self, consumed: LocatedRecord, sentence: str) -> None:
        if sentence not in self._warned:
            self._warned.add(sentence)
            where = f"{consumed.topic}-{consumed.partition} at offset {consumed.record.offset}"
            print(f"barnabas: {where}: {sentence}", file=sys.stderr)
