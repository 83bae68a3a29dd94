"""Keys and values of records, decoded by the schemas of a registry, for those who print them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from barnabas.broker.cli.records.registry_schemas import NoSchema, RegistrySchemas
from barnabas.registry.decoding.errors import UndecodableValue
from barnabas.registry.decoding.framing import KEY_HEADER, VALUE_HEADER, framed_part


class DecodedPart(NamedTuple):
    """A key or a value as a plain value, and the id or the guid of its schema."""

    value: Any
    schema: int | str


class HasHeaders(Protocol):
    """A record, as far as decoding needs it."""

    @property
    def key(self) -> bytes | None:
        """The bytes of the key."""

    @property
    def value(self) -> bytes | None:
        """The bytes of the value."""

    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]:
        """Names and values."""


class RecordDecoder:
    """Decodes what is in Confluent's wire format; warns once for each schema that it cannot use."""

    def __init__(self, schemas: RegistrySchemas) -> None:
        self._schemas = schemas
        self._warned: set[str] = set()

    def key(self, record: HasHeaders) -> DecodedPart | None:
        """Return the decoded key; None if it is to be printed as it is. OSError if the registry does not answer."""
        return self._decoded("key", record.key, KEY_HEADER, record)

    def value(self, record: HasHeaders) -> DecodedPart | None:
        """Return the decoded value, likewise."""
        return self._decoded("value", record.value, VALUE_HEADER, record)

    def _decoded(self, part: str, data: bytes | None, header: str, record: HasHeaders) -> DecodedPart | None:
        message = framed_part(data, record.headers, header)
        if message is None:
            return None
        try:
            value = self._schemas.decoder(message)(message.payload)
        except NoSchema as why:
            self._warn(f"a {part} is printed as it is: {why}")
        except UndecodableValue as why:
            self._warn(f"a {part} with the schema {message.schema_name} is printed as it is: {why}")
        else:
            return DecodedPart(value, message.schema)
        return None

    def _warn(self, sentence: str) -> None:
        if sentence not in self._warned:
            self._warned.add(sentence)
            print(f"barnabas: {sentence}", file=sys.stderr)
