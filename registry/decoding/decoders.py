"""The decoder of each language of schemas, loaded when the first schema of it is used."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.registry.decoding.bounds import CHEAP_BYTES as CHEAP_BYTES
from barnabas.registry.decoding.bounds import DecodingBounds
from barnabas.registry.decoding.errors import UndecodableValue
from barnabas.registry.schemas.parsed_schema import InvalidSchema, ReferencedSchema

Decoder = Callable[[bytes], Any]
"""From what follows the schema's id in a message to a plain value. Raises UndecodableValue."""


def decoder_for(schema_type: str, text: str, references: Sequence[ReferencedSchema] = ()) -> Decoder:
    """Return the decoder of a stored schema: AVRO, JSON or PROTOBUF. Raises InvalidSchema."""
    if schema_type == "JSON":
        return _json
    try:
        if schema_type == "AVRO":
            from barnabas.registry.decoding.avro import avro_decoder

            return avro_decoder(text, references)
        if schema_type == "PROTOBUF":
            from barnabas.registry.decoding.protobuf import protobuf_decoder

            return protobuf_decoder(text, references)
    except RecursionError:
        raise InvalidSchema("The schema is nested too deeply.") from None
    raise InvalidSchema(f"There is no decoder for schemas of the type {schema_type[:80]}.")


def _json(payload: bytes) -> Any:
    DecodingBounds(payload)
    try:
        return json.loads(payload, parse_constant=str)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UndecodableValue(f"the message is no JSON: {why}") from None
