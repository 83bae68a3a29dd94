"""The encoder of each language of schemas, loaded when the first schema of it is used. Protobuf has none yet."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.registry.encoding.errors import UnencodableValue
from barnabas.registry.schemas.parsed_schema import ReferencedSchema

Encoder = Callable[[Any], bytes]
"""From a plain value to what follows the schema's id in a message. Raises UnencodableValue."""


def encoder_for(schema_type: str, text: str, references: Sequence[ReferencedSchema] = ()) -> Encoder:
    """Return the encoder of a schema. Raises InvalidSchema; UnencodableValue for a language without an encoder."""
    if schema_type == "JSON":
        return _json
    if schema_type == "AVRO":
        from barnabas.registry.encoding.avro import avro_encoder

        return avro_encoder(text, references)
    raise UnencodableValue(f"values are not encoded by schemas of the type {schema_type}: give them as base64")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
